//go:build envtest

package run

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// deleteStack deletes the Stack, which keeps its finalizer.
func (r *testEnv) deleteStack() {
	r.Helper()
	before := r.stack.DeepCopy()
	r.stack.Finalizers = []string{v1alpha1.Finalizer}
	apiserver.Must(r.T, r.Env.Client.Patch(r.Context(), r.stack, client.MergeFrom(before)))
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), r.stack))
	r.Seen(r.stack)
}

// A plan whose pod runs, and may hang, ends when its Stack is deleted: the Run is over at once, so that the destroy can
// begin.
func TestReconcileEndsThePlanOfADeletedStack(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.expectAttempts("Plan")
	r.setPodRunning()
	r.deleteStack()
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseSuperseded, "Superseded")
	for _, pod := range r.pods() {
		if pod.DeletionTimestamp == nil {
			t.Errorf("pod %s stays", pod.Name)
		}
	}
}

// An apply does not.
func TestReconcileLeavesTheApplyOfADeletedStack(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.setPodRunning()
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		s.Phase = v1alpha1.PhaseApplying
		s.Attempts[0].Phase = v1alpha1.AttemptApply
	})
	r.deleteStack()
	for range 2 {
		r.reconcile()
		r.expectAttempts("Apply")
		r.expectPhase(v1alpha1.PhaseApplying, string(v1alpha1.PhaseApplying))
	}
	for _, pod := range r.pods() {
		if pod.DeletionTimestamp != nil {
			t.Errorf("pod %s is deleted", pod.Name)
		}
	}
}

// setPodRunning sets the status of the only pod to Running.
func (r *testEnv) setPodRunning() {
	r.Helper()
	pods := r.pods()
	if len(pods) != 1 {
		r.Fatalf("there are %d pods", len(pods))
	}
	pods[0].Status.Phase = corev1.PodRunning
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), &pods[0]))
	r.Seen(&pods[0])
}
