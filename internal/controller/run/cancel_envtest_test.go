//go:build envtest

package run

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/test/apiserver"
)

// cancelRun cancels the Run as a user does.
func (r *testEnv) cancelRun() {
	r.Helper()
	r.Seen(r.run)
	before := r.run.DeepCopy()
	r.run.Spec.Cancel, r.run.Spec.CanceledBy = true, "bob"
	apiserver.Must(r.T, r.Env.Client.Patch(r.Context(), r.run, client.MergeFrom(before)))
	r.Seen(r.run)
}

func (r *testEnv) expectPhase(want v1alpha1.RunPhase, reason string) {
	r.Helper()
	c := r.run.Status.Conditions
	if r.run.Status.Phase != want || len(c) == 0 || c[0].Reason != reason {
		r.Errorf("the Run is %q %v, want %s, %s", r.run.Status.Phase, c, want, reason)
	}
}

// deletePods deletes pods from the API server and waits for the cache.
func (r *testEnv) deletePods(pods ...corev1.Pod) {
	r.Helper()
	for i := range pods {
		apiserver.Must(r.T, client.IgnoreNotFound(r.Env.Client.Delete(r.Context(), &pods[i],
			client.GracePeriodSeconds(0))))
		r.Gone(&pods[i])
	}
}

func TestReconcileCancelsAPlanWhosePodWaits(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.cancelRun()
	r.reconcile()
	r.expectAttempts("Plan Canceled")
	r.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
	if pods := r.pods(); len(pods) != 0 && pods[0].DeletionTimestamp == nil {
		t.Errorf("there is pod %s", pods[0].Name)
	}
}

// An apply is over when its pod is gone, and no sooner.
func TestReconcileCancelsAnApplyWhosePodWaits(t *testing.T) {
	r := newTestEnv(t)
	r.stack.Spec.Runner.IdleTimeout = &metav1.Duration{}
	r.reconcile()
	first := r.pods()
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		s.Attempts[0].FinishedAt, s.Plan = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)}, &v1alpha1.Plan{
			Digest: "sha256:plan", Changes: true}
	})
	r.deletePods(first...)
	r.reconcile()
	r.expectAttempts("Plan", "Apply")
	second := r.pods()
	// A finalizer keeps it in sight, as the kubelet does while it ends.
	second[0].Finalizers = []string{"example.com/kubelet"}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), &second[0]))
	r.Seen(&second[0])

	r.cancelRun()
	for range 2 {
		r.reconcile()
		r.expectAttempts("Plan", "Apply")
		r.expectPhase(v1alpha1.PhaseApplying, v1alpha1.ReasonCanceling)
	}
	r.Seen(&second[0])
	if second[0].DeletionTimestamp == nil {
		t.Error("its pod is not deleted")
	}
	second[0].Finalizers = nil
	apiserver.Must(t, r.Env.Client.Update(t.Context(), &second[0]))
	r.deletePods(second...)
	r.reconcile()
	r.expectAttempts("Plan", "Apply Canceled")
	r.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
}

// A user canceled the Run after its pod was created and before the attempt was recorded: the pod is deleted.
func TestReconcileDeletesThePodOfAnAttemptThatDidNotBegin(t *testing.T) {
	r := newTestEnv(t)
	_, err := r.pod(t.Context(), r.run, r.stack, decision.Decision{Begin: v1alpha1.AttemptPlan}, 1)
	apiserver.Must(t, err)
	other := r.withStack("web", "")
	foreign, err := r.pod(t.Context(), other.run, other.stack, decision.Decision{Begin: v1alpha1.AttemptPlan}, 1)
	apiserver.Must(t, err)
	r.cancelRun()
	r.reconcile()
	r.expectAttempts()
	r.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
	r.reconcile()
	for _, pod := range r.pods() {
		if pod.Name != foreign.Name && pod.DeletionTimestamp == nil {
			t.Errorf("pod %s stays, and would wait for an order that never comes", pod.Name)
		}
	}
	if n := len(r.pods()); n == 0 {
		t.Error("the pod of another Run is gone")
	}
}

// A canceled Run frees its place for Runs that wait.
func TestCanceledRunReleasesItsPlace(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 1})
	next, last := r.withStack("web", ""), r.withStack("zoo", "")
	r.reconcile()
	next.reconcile()
	last.reconcile()
	next.cancelRun() // it waits in the line
	next.reconcile()
	next.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
	r.expectWoken()
	r.cancelRun() // it has a pod
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
	r.expectWoken(last)
	last.reconcile()
	last.expectAttempts("Plan")
}
