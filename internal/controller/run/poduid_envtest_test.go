//go:build envtest

package run

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/test/apiserver"
)

// Between the check of a pod and its deletion, another pod may have got its name.
func TestPodIsDeletedOnlyWithTheUIDOfItsAttempt(t *testing.T) {
	r := newTestEnv(t)
	pod := podspec.BuildPod(r.run, r.stack, inputs.Document{}, v1alpha1.AttemptPlan, 1, settings)
	apiserver.Must(t, r.Env.Client.Create(t.Context(), pod))
	r.run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: pod.Name,
		PodUID: "another"}}
	apiserver.Must(t, r.Reconciler.deletePod(t.Context(), r.run))
	if left := r.pods(); len(left) != 1 || left[0].DeletionTimestamp != nil {
		t.Fatalf("another pod of that name was deleted: %d are left", len(left))
	}
	r.run.Status.Attempts[0].PodUID = pod.UID
	apiserver.Must(t, r.Reconciler.deletePod(t.Context(), r.run))
	for _, p := range r.pods() {
		if p.DeletionTimestamp == nil {
			t.Error("the attempt's own pod was not deleted")
		}
	}
}
