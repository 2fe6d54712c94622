package decision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// pushed is a version of the state that alice wrote.
func pushed(version int64) func(*Snapshot) {
	return func(w *Snapshot) {
		state := *w.State
		state.Status.Version, state.Status.UpdatedBy = version, ""
		state.Status.Versions = []v1alpha1.StateVersion{{Version: version, By: "alice", At: metav1.NewTime(now)}}
		w.State = &state
	}
}

// planned records in the status that a Run plans a version of a user.
func planned(version int64, run string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.PlannedState = &v1alpha1.PlannedState{Version: version, Run: run} }
}

func manual(w *Snapshot)         { w.Stack.Spec.Apply = v1alpha1.ApplyManual }
func noSelfApproval(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }

// byUser is the Run that plans version 5.
func byUser(r *v1alpha1.Run) {
	r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "version 5 of the state was written by alice",
		By: "alice"}
}

func locksState(w *Snapshot) { w.State.Status.Lock = &v1alpha1.Lock{ID: "id", Who: "alice"} }

func TestStateVersionOfAUser(t *testing.T) {
	const written = "version 5 of the state was written by alice"
	decide(t, map[string]decision{
		"the version is planned, and the plan waits for an approval if spec.apply is Manual": {
			snapshot: newSnapshot(manual, isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown",
			reason: "Running", message: written,
		},
		"the version is only planned if plans are applied without approval, and the status is kept": {
			snapshot: newSnapshot(isApplied, pushed(5)), start: "Plan net-2", ready: "True", reason: "Applied",
		},
		"the version is applied if drift is corrected": {
			snapshot: newSnapshot(checks("Apply"), isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown",
			reason: "Running", message: written,
		},
		"the version is only planned if drift of some kinds is corrected": {
			snapshot: newSnapshot(checks("Apply"), applyingFor("Update"), isApplied, pushed(5)), start: "Plan net-2",
			ready: "True", reason: "Applied",
		},
		"the version is planned and waits for another user with preventSelfApproval": {
			snapshot: newSnapshot(noSelfApproval, isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown",
			reason: "Running", message: written,
		},
		"the version is planned if spec.apply is Never": {
			snapshot: newSnapshot(never, isApplied, pushed(5)), start: "Plan net-2", ready: "Unknown",
			reason: "Running", message: written,
		},
		"the version is planned after a plan with changes": {
			snapshot: newSnapshot(never, state(3), withRun("net-1", "Succeeded", "sha256:now", planOperation),
				pushed(5)), start: "Plan net-2", ready: "Unknown", reason: "Running",
		},
		"no other Run starts while the version is planned": {
			snapshot: newSnapshot(manual, isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Planning", "sha256:now", byUser)),
			ready: "Unknown", reason: "Running", message: written,
		},
		"the version is not planned a second time": {
			snapshot: newSnapshot(isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Planning", "sha256:now", byUser, planOperation), lastRun("net-2")),
			ready: "True", reason: "Applied",
		},
		"without changes the Stack is Ready": {
			snapshot: newSnapshot(manual, isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Succeeded", "sha256:now", byUser, noChanges)),
			ready: "True", reason: "Applied",
		},
		"changes are drift, also without drift.interval": {
			snapshot: newSnapshot(isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Succeeded", "sha256:now", byUser, planOperation)),
			ready: "False", reason: "Drifted", message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2",
			stalled: true,
		},
		"a plan that failed is reported if plans are applied without approval": {
			snapshot: newSnapshot(isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Failed", "sha256:now", byUser, planOperation, withReason("ConfigurationError"))),
			ready: "True", reason: "Applied", message: "version 5 of the state, which a user wrote, could not be " +
				"planned: Run net-2: message of the Run; cairn plan net tries again",
		},
		"a plan that failed is reported": {
			snapshot: newSnapshot(manual, isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Failed", "sha256:now", byUser, withReason("ConfigurationError"))),
			ready: "False", reason: "RunFailed", message: "Run net-2 failed", stalled: true,
		},
		"a rejected plan is not repeated": {
			snapshot: newSnapshot(manual, isApplied, pushed(5), planned(5, "net-2"),
				withRun("net-2", "Canceled", "sha256:now", byUser, rejected)),
			ready: "False", reason: "RunRejected", stalled: true,
		},
		"another version of a user is planned after a rejected one": {
			snapshot: newSnapshot(manual, isApplied, pushed(6), planned(5, "net-2"),
				withRun("net-2", "Canceled", "sha256:now", byUser, rejected)),
			start: "Apply net-3", ready: "Unknown", reason: "Running", message: "version 6",
		},
		"a version of a Run is not planned": {
			snapshot: newSnapshot(manual, isApplied, planned(5, "net-1")), ready: "True", reason: "Applied",
		},
		"a reserved Run that was not created does not count": {
			snapshot: newSnapshot(isApplied, pushed(5), planned(5, "net-2"), reservedFor("net-2", "Plan", "Manual")),
			start:    "Plan net-3", ready: "True", reason: "Applied",
		},
		"a reserved Run of the version is not a request that was handled long ago": {
			snapshot: newSnapshot(isApplied, pushed(5), planned(5, "net-2"), withRequest("Apply"), withHandledRequest,
				reservedFor("net-2", "Plan", "Manual"),
				func(w *Snapshot) { w.Stack.Status.ReservedRun.StateVersion = 5 }),
			start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"the version is planned when its lock is released": {
			snapshot: newSnapshot(isApplied, pushed(5), locksState), ready: "True", reason: "Applied",
		},
		"a suspended Stack is not Ready before the version is planned": {
			snapshot: newSnapshot(suspended, isApplied, pushed(5)), ready: "False", reason: "Suspended", stalled: true,
		},
		"a change of the inputs starts first, and plans the version too": {
			snapshot: newSnapshot(state(3), applied("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
				pushed(5)),
			start: "Apply net-2", ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"after an apply that failed in the middle only a request starts a Run": {
			snapshot: newSnapshot(state(3), withRun("net-1", "Failed", "sha256:now", applyStarted), pushed(5)),
			ready:    "False", reason: "RunFailed", stalled: true,
		},
		"the version is planned after a Run that could not plan": {
			snapshot: newSnapshot(state(3), applied("sha256:old"), withRun("net-1", "Failed", "sha256:now", withoutPlan,
				withReason("ConfigurationError")), pushed(5)),
			start: "Apply net-2", ready: "Unknown", reason: "Running", message: written,
		},
		"a Run of the version that was reserved and not created keeps its cause": {
			snapshot: newSnapshot(state(3), applied("sha256:old"), withRun("net-1", "Failed", "sha256:now", withoutPlan,
				withReason("ConfigurationError")),
				pushed(5), planned(5, "net-2"), reservedFor("net-2", "Apply", "Manual")),
			start: "Apply net-3", ready: "Unknown", reason: "Running", message: written,
		},
		"a plan of the version that fails is not repeated": {
			snapshot: newSnapshot(state(3), applied("sha256:old"), pushed(5), planned(5, "net-2"),
				withRun("net-2", "Failed", "sha256:now", byUser, withoutPlan, withReason("ConfigurationError"))),
			ready: "False", reason: "RunFailed", stalled: true,
		},
		"a destroyed Stack stays destroyed": {
			snapshot: newSnapshot(destroyedBefore, state(3), pushed(5)), ready: "False", reason: "Destroyed",
			stalled: true,
		},
	})
}

// TestPlannedStateIsRecorded checks that the status records the version that a Run plans together with the reservation
// of the Run.
func TestPlannedStateIsRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     *v1alpha1.PlannedState
	}{
		"a Run for the version": {newSnapshot(isApplied, pushed(5)),
			&v1alpha1.PlannedState{Version: 5, Run: "net-2"}},
		"for a change": {newSnapshot(state(0), pushed(1)),
			&v1alpha1.PlannedState{Version: 1, Run: "net-1"}},
		"for a request": {newSnapshot(isApplied, pushed(5), withRequest("Plan")),
			&v1alpha1.PlannedState{Version: 5, Run: "net-2"}},
		"a shell does not plan": {newSnapshot(allowed, isApplied, pushed(5), planned(4, "net-1"),
			withRequest("Shell")), &v1alpha1.PlannedState{Version: 4, Run: "net-1"}},
		"no Run starts": {newSnapshot(isApplied, planned(4, "net-1")),
			&v1alpha1.PlannedState{Version: 4, Run: "net-1"}},
		"a Run for a version of a Run": {newSnapshot(isApplied, planned(4, "net-1"), withRequest("Plan")), nil},
		"a Stack without a state":      {newSnapshot(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			got := Status(tt.snapshot, d)
			if (got.PlannedState == nil) != (tt.want == nil) ||
				got.PlannedState != nil && *got.PlannedState != *tt.want {
				t.Errorf("got %+v, want %+v", got.PlannedState, tt.want)
			}
			if ofState := d.Start != nil &&
				d.Start.Cause.Message == "version 5 of the state was written by alice"; ofState != (d.Start != nil &&
				got.ReservedRun.StateVersion == 5) {
				t.Errorf("reserved is %+v", got.ReservedRun)
			}
		})
	}
}

// TestUserWhoWroteTheStateCausedTheRun checks that a Run requested by another user keeps the user of the version as one
// of its contributors, until the version is applied.
func TestUserWhoWroteTheStateCausedTheRun(t *testing.T) {
	w := newSnapshot(manual, noSelfApproval, isApplied, pushed(5), planned(5, "net-2"),
		withRun("net-2", "Canceled", "sha256:now", byUser, rejected), withRequest("Apply"),
		annotate(v1alpha1.RequestedByAnnotation, "bob"))
	if diff := cmp.Diff([]string{"State alice 5", "Request bob"}, causedBy(Decide(w).Start)); diff != "" {
		t.Error(diff)
	}
	w.Now = w.Now.Add(time.Hour)
	w.Runs[1].Status.Phase = v1alpha1.PhaseSucceeded // applied
	if diff := cmp.Diff([]string{"Request bob"}, causedBy(Decide(w).Start)); diff != "" {
		t.Error(diff)
	}
	w.Runs[1].Status.Phase, w.State.Status.Versions[0].By = v1alpha1.PhaseCanceled, ""
	if d := Decide(w); d.Start.CausedByUnknown !=
		"version 5 of the state was written by a user whose name is not known" {
		t.Errorf("%+v", d.Start)
	}
}
