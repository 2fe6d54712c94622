//go:build envtest

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// rejectsADelete is a client that rejects the first deletion of a pod.
type rejectsADelete struct {
	client.Client
	rejected bool
}

func (c *rejectsADelete) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, ok := o.(*corev1.Pod); ok && !c.rejected {
		c.rejected = true
		return apierrors.NewInternalError(errors.New("etcd is unavailable"))
	}
	return c.Client.Delete(ctx, o, opts...)
}

// expectPods expects that these pods are not deleted.
func (r *testEnv) expectPods(want ...string) {
	r.Helper()
	var got []string
	for _, pod := range r.pods() {
		if pod.DeletionTimestamp == nil {
			got = append(got, pod.Name)
		}
	}
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
		r.Errorf("pods %v of a Run that is %s, want %v", got, r.run.Status.Phase, want)
	}
}

func TestPendingPodOfAFinishedRunIsDeletedAfterAnError(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.cancelRun()
	r.Reconciler.Client = &rejectsADelete{Client: r.Env.Client}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.run)}); err == nil {
		t.Fatal("the deletion did not fail")
	}
	r.Seen(r.run)
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseCanceled, v1alpha1.ReasonCanceled)
	r.expectPods()
}

// TestStartedPodOfAFinishedRunStays checks pods that have a log, or are to end by themselves.
func TestStartedPodOfAFinishedRunStays(t *testing.T) {
	for name, status := range map[string]string{
		"running": `{phase: Running}`,
		"failed":  `{phase: Failed}`,
		"pending, beside a container that runs": `{phase: Pending, containerStatuses: [{name: engine, state: {running: {}}},
			{name: other, state: {waiting: {reason: ContainerCreating}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t)
			r.reconcile()
			r.setPodStatus(&r.pods()[0], status)
			r.updateStatus(func(s *v1alpha1.RunStatus) { s.Phase = v1alpha1.PhaseFailed })
			r.reconcile()
			r.expectPods("net-1-plan-1")
		})
	}
}

const injected = `{phase: Running, containerStatuses: [{name: engine, state: {terminated: {exitCode: %d}}}, {name: istio-proxy, state: {running: {}}}]}`

// TestPodWithAnInjectedSidecarIsDeleted checks that a container that another system added does not keep a pod until
// the Run is deleted: pods of many Runs would fill the quota of the namespace.
func TestPodWithAnInjectedSidecarIsDeleted(t *testing.T) {
	t.Run("after the Run", func(t *testing.T) {
		r := newTestEnv(t)
		r.reconcile()
		r.setPodStatus(&r.pods()[0], fmt.Sprintf(injected, 0))
		r.updateStatus(func(s *v1alpha1.RunStatus) { s.Phase = v1alpha1.PhaseFailed })
		r.reconcile()
		r.expectPods()
	})
	t.Run("before the report of its attempt", func(t *testing.T) {
		r := newTestEnv(t)
		r.reconcile()
		r.setPodStatus(&r.pods()[0], fmt.Sprintf(injected, 137))
		r.reconcile()
		r.expectPods()
		if a := r.run.Status.Attempts[0]; a.Failure == nil ||
			!strings.Contains(a.Failure.Message, "had its container engine killed (SIGKILL)") {
			t.Errorf("the attempt is %+v", a)
		}
	})
	t.Run("but not if its log has the only copy of a state", func(t *testing.T) {
		r := newTestEnv(t)
		r.reconcile()
		r.setPodStatus(&r.pods()[0], fmt.Sprintf(injected, runnerapi.ExitStranded))
		for range 2 {
			r.reconcile()
		}
		r.expectPods("net-1-plan-1")
		if a := r.run.Status.Attempts[0]; a.Failure == nil || a.Failure.Class != v1alpha1.FailureStateNotSaved {
			t.Errorf("the attempt is %+v", a)
		}
	})
	t.Run("nor while the engine runs", func(t *testing.T) {
		r := newTestEnv(t)
		r.reconcile()
		r.setPodStatus(&r.pods()[0],
			`{phase: Running, containerStatuses: [{name: engine, state: {running: {}}}, {name: istio-proxy, state: {terminated: {exitCode: 1}}}]}`)
		r.reconcile()
		r.expectPods("net-1-plan-1")
	})
}

// TestPodOfARetryThatDidNotBeginIsDeleted checks an operator that ended after it had created the pod of a retry and
// before it reported it. Since then the inputs changed, so the Run fails.
func TestPodOfARetryThatDidNotBeginIsDeleted(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.deletePods(r.pods()...)
	ended, due := metav1.NewMicroTime(time.Now().Add(-time.Hour)), metav1.NewTime(time.Now().Add(-time.Minute))
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		s.Phase, s.Plan, s.NextAttempt = v1alpha1.PhaseApplying, &v1alpha1.Plan{Digest: "sha256:plan",
			Changes: true}, &due
		s.Attempts[0].FinishedAt = &ended
		s.Attempts = append(s.Attempts, v1alpha1.Attempt{
			Number: 2, Phase: v1alpha1.AttemptApply, Pod: s.Attempts[0].Pod, PodUID: s.Attempts[0].PodUID,
			StartedAt: ended, FinishedAt: &ended,
			Steps:   []v1alpha1.Step{{Name: "apply", State: v1alpha1.StepFailed}},
			Failure: &v1alpha1.Failure{Class: v1alpha1.FailureTransient, Message: "the cloud is away"},
		})
	})
	_, err := r.pod(t.Context(), r.run, r.stack, decision.Decision{Begin: v1alpha1.AttemptPlan}, 3)
	apiserver.Must(t, err)
	r.stack.Status.InputsDigest = "sha256:other"
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.Seen(r.stack)
	for range 2 {
		r.reconcile()
	}
	if r.run.Status.Phase != v1alpha1.PhaseFailed {
		t.Errorf("the Run is %s: %v", r.run.Status.Phase, r.run.Status.Conditions)
	}
	r.expectPods()
}
