//go:build envtest

package stack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// TestStateOfAUserIsPlannedOnce checks that a state version which a user wrote is planned once, whatever the result.
// After that nothing is written.
func TestStateOfAUserIsPlannedOnce(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	state := &v1alpha1.State{
		ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Status: v1alpha1.StateStatus{
			Version: 1, UpdatedBy: "net-1", Resources: 2, InputsDigest: firstRun(r).Spec.InputsDigest,
			Versions: []v1alpha1.StateVersion{{Version: 1, SHA256: "sha256:a", Storage: v1alpha1.StateStorageSecret,
				Run: "net-1", At: metav1.Now()}},
		},
	}
	r.Make(state)
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")

	for _, tt := range []struct {
		version int64
		run     string
		ends    v1alpha1.RunPhase
		ready   metav1.ConditionStatus
		reason  string
		runs    string
	}{
		{2, "net-2", v1alpha1.PhaseSucceeded, "True", "Applied", "net-1 net-2 "},
		{3, "net-3", v1alpha1.PhaseCanceled, "False", "RunCanceled", "net-1 net-2 net-3 "},
		{4, "net-4", v1alpha1.PhaseSucceeded, "True", "Applied", "net-1 net-2 net-3 net-4 "},
	} {
		state.Status.Version, state.Status.UpdatedBy = tt.version, ""
		state.Status.Versions = append(state.Status.Versions, v1alpha1.StateVersion{
			Version: tt.version, SHA256: "sha256:b", Storage: v1alpha1.StateStorageSecret, By: "alice",
			At: metav1.Now(),
		})
		apiserver.Must(t, r.Env.Client.Update(t.Context(), state))
		r.Seen(state)
		r.reconcile()
		r.expect("Unknown", "Running", tt.runs)
		run := &v1alpha1.Run{}
		apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: tt.run},
			run))
		if c := run.Spec.Cause; run.Spec.Operation != v1alpha1.OperationApply || c.Type != v1alpha1.CauseManual ||
			c.By != "alice" {
			t.Errorf("the Run is %s with cause %+v", run.Spec.Operation, c)
		}
		if p := r.stack.Status.PlannedState; p == nil ||
			*p != (v1alpha1.PlannedState{Version: tt.version, Run: tt.run}) {
			t.Errorf("planned is %+v", p)
		}
		r.ends(tt.run, tt.ends)
		r.reconcile()
		r.expect(tt.ready, tt.reason, tt.runs)

		before := r.stack.ResourceVersion
		r.reconcile()
		r.expect(tt.ready, tt.reason, tt.runs)
		if r.stack.ResourceVersion != before {
			t.Error("reconciling without a change wrote the status")
		}
	}
}
