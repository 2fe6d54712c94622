//go:build envtest

package run

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// setImage sets the digest of the image that the first pod runs.
func (r *testEnv) setImage(digest string) {
	r.Helper()
	pod := &r.pods()[0]
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "engine", Image: "cairn-tools:1", ImageID: "docker.io/library/cairn-tools@" + digest,
	}}}
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), pod))
	r.Seen(pod)
}

// reportPlan reports a plan of the first attempt.
func (r *testEnv) reportPlan() error {
	r.Helper()
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	return reports.Report(r.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: destroying}})
}

// appliesInAnotherPod deletes the pod of the plan and approves the plan, and gives the image of the pod that applies
// it.
func (r *testEnv) applyInAnotherPod() string {
	r.Helper()
	pod := &r.pods()[0]
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), pod, client.GracePeriodSeconds(0)))
	r.Gone(pod)
	r.approve(destroying.Digest)
	r.reconcile()
	r.expectAttempts("Plan", "Apply")
	pods := r.pods()
	if len(pods) != 1 {
		r.Fatalf("pods are %v", pods)
	}
	return pods[0].Spec.Containers[0].Image
}

const pinned = "cairn-tools:1@" + runtest.ImageDigest

// The digest of the image that planned is written with the plan, and the pod that applies it has that image.
func TestPlanIsAppliedInItsImage(t *testing.T) {
	r := newTestEnv(t)
	r.changeStack(asksFor(v1alpha1.ChangeDelete))
	r.reconcile()
	r.setImage(runtest.ImageDigest)
	apiserver.Must(t, r.reportPlan())
	r.Seen(r.run)
	if got := r.run.Status.Plan.Image; got != pinned {
		t.Errorf("the plan is of %q", got)
	}
	if got := r.applyInAnotherPod(); got != pinned {
		t.Errorf("it is applied in %q", got)
	}
}

// A node may report the digest of the image after the plan is reported.
func TestImageReportedAfterThePlanIsRecorded(t *testing.T) {
	r := newTestEnv(t)
	r.changeStack(asksFor(v1alpha1.ChangeDelete))
	r.reconcile()
	apiserver.Must(t, r.reportPlan())
	r.Seen(r.run)
	r.setImage(runtest.ImageDigest)
	r.reconcile()
	if got := r.applyInAnotherPod(); got != pinned {
		t.Errorf("it is applied in %q", got)
	}
}

// An image without a digest, such as one that was imported into the node, is named as it was.
func TestImageWithoutADigestIsNotPinned(t *testing.T) {
	r := newTestEnv(t)
	r.changeStack(asksFor(v1alpha1.ChangeDelete))
	r.reconcile()
	apiserver.Must(t, r.reportPlan())
	r.Seen(r.run)
	if got := r.applyInAnotherPod(); got != "cairn-tools:1" {
		t.Errorf("it is applied in %q", got)
	}
}

// The image of a deleted pod is not known.
func TestPlanOfADeletedPodIsRejected(t *testing.T) {
	r := newTestEnv(t)
	r.changeStack(asksFor(v1alpha1.ChangeDelete))
	r.reconcile()
	pod := &r.pods()[0]
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	if err := r.reportPlan(); !errors.Is(err, dispatch.ErrNotCurrent) {
		t.Errorf("%v", err)
	}
}
