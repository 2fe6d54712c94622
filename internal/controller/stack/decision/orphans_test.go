package decision

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
)

func leavesOut(r *v1alpha1.Run) {
	r.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "aws_vpc.a", Reason: "it has no importer"}}
}

func withoutPlan(r *v1alpha1.Run) { r.Status.Plan = nil }

func TestOrphaned(t *testing.T) {
	const message = "an apply that was killed created aws_vpc.a, which could not be taken into the state (it has no " +
		"importer); the log of Run net-1 has its ID"
	for name, test := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"every resource was imported": {newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted)),
			""},
		"the plan waits for approval": {
			newSnapshot(withRun("net-1", "AwaitingApproval", "sha256:now", leavesOut)), message},
		"a plan without changes": {
			newSnapshot(withRun("net-1", "Succeeded", "sha256:now", noChanges, leavesOut)), message},
		"its apply failed": {
			newSnapshot(withRun("net-1", "Failed", "sha256:now", leavesOut, applyStarted)), message},
		"a newer Run has no plan yet": {newSnapshot(withRun("net-1", "Canceled", "sha256:now", leavesOut),
			withRun("net-2", "Planning", "sha256:now", withoutPlan)), message},
		"it was applied": {
			newSnapshot(withRun("net-1", "Succeeded", "sha256:now", leavesOut, applyStarted)), ""},
		"a newer plan imports the resource": {newSnapshot(withRun("net-1", "Canceled", "sha256:now", leavesOut),
			withRun("net-2", "AwaitingApproval", "sha256:now")), ""},
	} {
		test.snapshot.Stack.Status.Conditions = nil
		for range 2 { // applying the status twice changes nothing
			test.snapshot.Stack.Status = Status(test.snapshot, Decide(test.snapshot))
			expectSameWithHistory(t, test.snapshot)
			got := ""
			if c := apimeta.FindStatusCondition(test.snapshot.Stack.Status.Conditions,
				v1alpha1.ConditionUntrackedResources); c != nil {
				got = c.Message
			}
			if got != test.want {
				t.Errorf("%s: %q", name, got)
			}
		}
		gone := newSnapshot(withRun("net-9", "Succeeded", "sha256:now", applyStarted))
		gone.Stack.Status = test.snapshot.Stack.Status
		if s := Status(gone, Decide(gone)); apimeta.FindStatusCondition(s.Conditions,
			v1alpha1.ConditionUntrackedResources) != nil {
			t.Errorf("%s: the condition remains", name)
		}
	}
}

// TestJournalPreventsDeletion checks that a Stack is only removed when every created resource is in a state.
func TestJournalPreventsDeletion(t *testing.T) {
	unsaved := func(w *Snapshot) { w.Unsaved = []string{"aws_vpc.a"} }
	if d := Decide(newSnapshot(deleted, state(0))); !d.Finish {
		t.Fatalf("%+v", d)
	}
	if d := Decide(newSnapshot(deleted, state(0), unsaved)); d.Finish || d.Start == nil ||
		d.Start.Operation != v1alpha1.OperationDestroy {
		t.Errorf("%+v", d)
	}
	d := Decide(newSnapshot(deleted, state(0), unsaved, withRun("net-1", "Succeeded", "sha256:last", destroyOperation)))
	if d.Finish || d.Reason != "DestroyIncomplete" || d.Message != "Run net-1 destroyed what the state had, but an "+
		"apply that was killed created aws_vpc.a, which is in no state: cairn retry net destroys once more; or "+
		"delete what is left by hand, then set spec.deletionPolicy to Orphan" {
		t.Errorf("%+v", d)
	}
}

// TestJournalPreventsDeletionWithAnEncryptedState checks a destroy that can import nothing since the engine encrypts
// the state. A destroy without resources succeeds without approval.
func TestJournalPreventsDeletionWithAnEncryptedState(t *testing.T) {
	w := newSnapshot(deleted, state(-1), withRun("net-1", "Succeeded", "sha256:last", destroyOperation))
	if d := Decide(w); !d.Finish {
		t.Fatalf("%+v", d)
	}
	w.Unsaved = []string{"aws_vpc.a"}
	if d := Decide(w); d.Finish || d.Reason != "DestroyIncomplete" ||
		!strings.Contains(d.Message, "but an apply that was killed created aws_vpc.a, which is in no state") {
		t.Errorf("%+v", d)
	}
}

// TestUnreadableJournalPreventsDeletion checks that a Stack with a damaged journal remains and reports what to do.
func TestUnreadableJournalPreventsDeletion(t *testing.T) {
	unreadable := func(w *Snapshot) { w.StateUnreadable = "the journal is damaged: remove it" }
	d := Decide(newSnapshot(deleted, state(0), unreadable))
	if d.Finish || d.Start != nil || !d.Stalled || d.Reason != "DestroyIncomplete" || d.RequeueAfter == 0 ||
		d.Message != "the journal is damaged: remove it; to leave what is left as it is, set "+
			"spec.deletionPolicy to Orphan" {
		t.Errorf("%+v", d)
	}
	orphans := func(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	if d := Decide(newSnapshot(deleted, state(0), unreadable, orphans)); !d.Finish {
		t.Errorf("%+v", d)
	}
}
