package decision

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// staged is a Stack of a stage that requires a drift check after each apply.
func staged(w *Snapshot) {
	w.VerifiesDrift = true
	w.Release = &v1alpha1.StackRelease{Pipeline: "shop", UID: "p", Stage: "dev", Commit: "c1", Promotion: 1}
}

// checkedByRun is a check that the status has.
func checkedByRun(run string) func(*Snapshot) {
	return func(w *Snapshot) {
		checkedAgo(time.Minute)(w)
		w.Stack.Status.Drift.CheckedBy = run
	}
}

// TestDriftCheckOfAStage checks that a stage that verifies drift has a check start after the apply, once, and again
// after a check without a result; and none of a Stack without drift checks.
func TestDriftCheckOfAStage(t *testing.T) {
	justApplied := func(w *Snapshot) {
		applied("sha256:now")(w)
		state(3)(w)
		withRun("net-1", "Succeeded", "sha256:now", ago(time.Minute))(w)
	}
	check := func(phase v1alpha1.RunPhase, since time.Duration) func(*Snapshot) {
		return withRun("net-2", phase, "sha256:now", driftCheck, noChanges, ago(since))
	}
	for name, c := range map[string]struct {
		snapshot Snapshot
		starts   bool
	}{
		"after the apply":          {newSnapshot(checks("Report"), justApplied, staged), true},
		"not without the stage":    {newSnapshot(checks("Report"), justApplied), false},
		"not without drift checks": {newSnapshot(justApplied, staged), false},
		"once": {
			newSnapshot(checks("Report"), justApplied, staged, check("Succeeded", 0)), false,
		},
		"once, by the status": {
			newSnapshot(checks("Report"), justApplied, staged, checkedByRun("net-1")), false,
		},
		"not at once after one failed": {
			newSnapshot(checks("Report"), justApplied, staged, check("Failed", 9*time.Minute)), false,
		},
		"ten minutes after one failed": {
			newSnapshot(checks("Report"), justApplied, staged, check("Failed", 10*time.Minute)), true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(c.snapshot)
			starts := d.Start != nil && d.Start.Operation == v1alpha1.OperationPlan &&
				d.Start.Cause.Type == v1alpha1.CauseDrift
			if starts != c.starts {
				t.Fatalf("a check starts: %t, want %t (%s: %s)", starts, c.starts, d.Reason, d.Message)
			}
			const want = "check for drift after the apply, for stage dev of Pipeline shop"
			if starts && d.Start.Cause.Message != want {
				t.Errorf("the cause is %q", d.Start.Cause.Message)
			}
		})
	}
}

// TestRunThatCheckedAStack checks which Run is a check since the last apply.
func TestRunThatCheckedAStack(t *testing.T) {
	options := func(r *v1alpha1.Run) { r.Spec.PlanOptions = &v1alpha1.PlanOptions{} }
	for name, c := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"an apply": {newSnapshot(isApplied), ""},
		"an apply of a plan without changes": {
			newSnapshot(applied("sha256:now"), state(3), withRun("net-1", "Succeeded", "sha256:now", noChanges)),
			"net-1",
		},
		"a drift check": {
			newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck)), "net-2",
		},
		"one that failed": {
			newSnapshot(isApplied, withRun("net-2", "Failed", "sha256:now", driftCheck)), "",
		},
		"one of other inputs": {
			newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:old", driftCheck)), "",
		},
		"one with options": {
			newSnapshot(isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck, options)), "",
		},
		"the status": {newSnapshot(isApplied, checkedByRun("net-2")), "net-2"},
		"a later apply than that": {
			newSnapshot(checkedByRun("net-2"), isApplied, withRun("net-3", "Succeeded", "sha256:now")), "",
		},
		"a later apply, which failed": {
			newSnapshot(checkedByRun("net-2"), isApplied, withRun("net-3", "Failed", "sha256:now")), "",
		},
		"a check that failed later": {
			newSnapshot(checkedByRun("net-2"), isApplied, withRun("net-3", "Failed", "sha256:now", driftCheck)),
			"net-2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checkedBy(c.snapshot); got != c.want {
				t.Errorf("checked by %q, want %q", got, c.want)
			}
		})
	}
}
