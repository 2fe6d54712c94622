package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// pushed has alice write a version of the state.
func pushed(version int64) func(*Snapshot) {
	return func(w *Snapshot) {
		state := *w.State
		state.Status.Version, state.Status.UpdatedBy = version, ""
		state.Status.Versions = []v1alpha1.StateVersion{{Version: version, By: "alice", At: metav1.NewTime(now)}}
		w.State = &state
	}
}

// planned has the status record that a Run plans a version of a user.
func planned(version int64, run string) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Status.PlannedState = &v1alpha1.PlannedState{Version: version, Run: run} }
}

func manual(w *Snapshot)         { w.Stack.Spec.Apply = v1alpha1.ApplyManual }
func noSelfApproval(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }

// byUser is the Run that plans version 5.
func byUser(r *v1alpha1.Run) {
	r.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "version 5 of the state was written by alice", By: "alice"}
}

func locksState(w *Snapshot) { w.State.Status.Lock = &v1alpha1.Lock{ID: "id", Who: "alice"} }

func TestAStateThatAUserWrote(t *testing.T) {
	const written = "version 5 of the state was written by alice"
	decide(t, map[string]decision{
		"it is planned, and the plan waits for an approval where each does": {
			world: world(manual, isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown", reason: "Running", message: written,
		},
		"where plans are applied without one it is only planned, and the Stack says what it said": {
			world: world(isApplied, pushed(5)), start: "Plan net-2", ready: "True", reason: "Applied",
		},
		"unless the Stack has drift corrected": {
			world: world(checks("Apply"), isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown", reason: "Running", message: written,
		},
		"or another user has to approve": {
			world: world(noSelfApproval, isApplied, pushed(5)), start: "Apply net-2", ready: "Unknown", reason: "Running", message: written,
		},
		"where nothing is ever applied it is planned": {
			world: world(never, isApplied, pushed(5)), start: "Plan net-2", ready: "Unknown", reason: "Running", message: written,
		},
		"also after a plan that had changes": {
			world: world(never, state(3), had("net-1", "Succeeded", "sha256:now", plans), pushed(5)), start: "Plan net-2", ready: "Unknown", reason: "Running",
		},
		"while the Run that plans it is under way no other starts": {
			world: world(manual, isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Planning", "sha256:now", byUser)),
			ready: "Unknown", reason: "Running", message: written,
		},
		"nor does a second look": {
			world: world(isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Planning", "sha256:now", byUser, plans), lastRun("net-2")),
			ready: "True", reason: "Applied",
		},
		"without changes the Stack is ready": {
			world: world(manual, isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Succeeded", "sha256:now", byUser, noChanges)),
			ready: "True", reason: "Applied",
		},
		"what a look finds is drift, also where nothing checks for it": {
			world: world(isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Succeeded", "sha256:now", byUser, plans)),
			ready: "False", reason: "Drifted", message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2", stalled: true,
		},
		"a look that fails is told": {
			world: world(isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Failed", "sha256:now", byUser, plans, says("ConfigurationError"))),
			ready: "True", reason: "Applied", message: "version 5 of the state, which a user wrote, could not be planned: Run net-2: what the Run says; cairn plan net tries again",
		},
		"a plan that fails is told": {
			world: world(manual, isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Failed", "sha256:now", byUser, says("ConfigurationError"))),
			ready: "False", reason: "RunFailed", message: "Run net-2 failed", stalled: true,
		},
		"a rejected plan is not planned again": {
			world: world(manual, isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Canceled", "sha256:now", byUser, rejected)),
			ready: "False", reason: "RunRejected", stalled: true,
		},
		"until a user writes another version": {
			world: world(manual, isApplied, pushed(6), planned(5, "net-2"), had("net-2", "Canceled", "sha256:now", byUser, rejected)),
			start: "Apply net-3", ready: "Unknown", reason: "Running", message: "version 6",
		},
		"a version of a Run is nothing new": {
			world: world(manual, isApplied, planned(5, "net-1")), ready: "True", reason: "Applied",
		},
		"a Run that was named for it and never created does not count": {
			world: world(isApplied, pushed(5), planned(5, "net-2"), namedFor("net-2", "Plan", "Manual")), start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"nor is it taken for one that was asked for long ago": {
			world: world(isApplied, pushed(5), planned(5, "net-2"), asks("Apply"), taken, namedFor("net-2", "Plan", "Manual"),
				func(w *Snapshot) { w.Stack.Status.ReservedRun.StateVersion = 5 }),
			start: "Plan net-3", ready: "True", reason: "Applied",
		},
		"a lock is waited for": {
			world: world(isApplied, pushed(5), locksState), ready: "True", reason: "Applied",
		},
		"a suspended Stack is not ready before it is planned": {
			world: world(suspended, isApplied, pushed(5)), ready: "False", reason: "Suspended", stalled: true,
		},
		"what is declared goes first, and plans it too": {
			world: world(state(3), applied("sha256:old"), had("net-1", "Succeeded", "sha256:old"), pushed(5)),
			start: "Apply net-2", ready: "Unknown", reason: "Running", message: "the code changed",
		},
		"after an apply that failed in the middle only a user goes on": {
			world: world(state(3), had("net-1", "Failed", "sha256:now", began), pushed(5)), ready: "False", reason: "RunFailed", stalled: true,
		},
		"what was destroyed stays destroyed": {
			world: world(destroyedBefore, state(3), pushed(5)), ready: "False", reason: "Destroyed", stalled: true,
		},
	})
}

// The status records which version a Run plans, whatever that Run is for, in the write that names the Run.
func TestThePlannedStateIsRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		world Snapshot
		want  *v1alpha1.PlannedState
	}{
		"for the version itself":      {world(isApplied, pushed(5)), &v1alpha1.PlannedState{Version: 5, Run: "net-2"}},
		"for a change":                {world(state(0), pushed(1)), &v1alpha1.PlannedState{Version: 1, Run: "net-1"}},
		"for a request":               {world(isApplied, pushed(5), asks("Plan")), &v1alpha1.PlannedState{Version: 5, Run: "net-2"}},
		"a shell plans nothing":       {world(allowed, isApplied, pushed(5), planned(4, "net-1"), asks("Shell")), &v1alpha1.PlannedState{Version: 4, Run: "net-1"}},
		"no Run, no news":             {world(isApplied, planned(4, "net-1")), &v1alpha1.PlannedState{Version: 4, Run: "net-1"}},
		"a Run's version takes it":    {world(isApplied, planned(4, "net-1"), asks("Plan")), nil},
		"no user can have written it": {world(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.world)
			got := Status(tt.world, d)
			if (got.PlannedState == nil) != (tt.want == nil) || got.PlannedState != nil && *got.PlannedState != *tt.want {
				t.Errorf("got %+v, want %+v", got.PlannedState, tt.want)
			}
			if ofState := d.Start != nil && d.Start.Cause.Message == "version 5 of the state was written by alice"; ofState != (d.Start != nil && got.ReservedRun.StateVersion == 5) {
				t.Errorf("named as %+v", got.ReservedRun)
			}
		})
	}
}

// Who tries again what a user's version would change does not take it from that user: with preventSelfApproval another one
// has to approve.
func TestAUserWhoWroteTheStateCausedWhatFollows(t *testing.T) {
	w := world(manual, noSelfApproval, isApplied, pushed(5), planned(5, "net-2"), had("net-2", "Canceled", "sha256:now", byUser, rejected), asks("Apply"),
		annotate(v1alpha1.RequestedByAnnotation, "bob"))
	d := Decide(w)
	if d.Start == nil || d.Start.Cause.By != "alice" {
		t.Errorf("it starts %+v", d.Start)
	}
	w.Now = w.Now.Add(time.Hour)
	w.Runs[1].Status.Phase = v1alpha1.PhaseSucceeded // applied
	if d := Decide(w); d.Start == nil || d.Start.Cause.By != "bob" {
		t.Errorf("it starts %+v", d.Start)
	}
}
