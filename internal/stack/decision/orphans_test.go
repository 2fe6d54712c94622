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
	const told = "an apply that was killed created aws_vpc.a, which could not be taken into the state (it has no importer); the log of Run net-1 has its ID"
	for name, test := range map[string]struct {
		world Snapshot
		want  string
	}{
		"nothing is left out":              {world(had("net-1", "Succeeded", "sha256:now", began)), ""},
		"while the plan waits":             {world(had("net-1", "AwaitingApproval", "sha256:now", leavesOut)), told},
		"a plan without changes":           {world(had("net-1", "Succeeded", "sha256:now", noChanges, leavesOut)), told},
		"when its apply failed":            {world(had("net-1", "Failed", "sha256:now", leavesOut, began)), told},
		"when a newer Run has no plan yet": {world(had("net-1", "Canceled", "sha256:now", leavesOut), had("net-2", "Planning", "sha256:now", withoutPlan)), told},
		"not once it was applied":          {world(had("net-1", "Succeeded", "sha256:now", leavesOut, began)), ""},
		"not once a newer plan took it in": {world(had("net-1", "Canceled", "sha256:now", leavesOut), had("net-2", "AwaitingApproval", "sha256:now")), ""},
	} {
		test.world.Stack.Status.Conditions = nil
		for range 2 { // and it goes as it came
			test.world.Stack.Status = Status(test.world, Decide(test.world))
			asTold(t, test.world)
			got := ""
			if c := apimeta.FindStatusCondition(test.world.Stack.Status.Conditions, v1alpha1.ConditionUntrackedResources); c != nil {
				got = c.Message
			}
			if got != test.want {
				t.Errorf("%s: %q", name, got)
			}
		}
		gone := world(had("net-9", "Succeeded", "sha256:now", began))
		gone.Stack.Status = test.world.Stack.Status
		if s := Status(gone, Decide(gone)); apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUntrackedResources) != nil {
			t.Errorf("%s: it stays", name)
		}
	}
}

// A Stack goes only when nothing exists that no state knows.
func TestAJournalKeepsAStackFromGoing(t *testing.T) {
	unsaved := func(w *Snapshot) { w.Unsaved = []string{"aws_vpc.a"} }
	if d := Decide(world(deleted, state(0))); !d.Finish {
		t.Fatalf("%+v", d)
	}
	if d := Decide(world(deleted, state(0), unsaved)); d.Finish || d.Start == nil || d.Start.Operation != v1alpha1.OperationDestroy {
		t.Errorf("%+v", d)
	}
	d := Decide(world(deleted, state(0), unsaved, had("net-1", "Succeeded", "sha256:kept", destroys)))
	if d.Finish || d.Reason != "DestroyIncomplete" || d.Message != "Run net-1 destroyed what the state had, but an apply that was killed created aws_vpc.a, which is in no state: cairn retry net destroys once more; or delete what is left by hand, then set spec.deletionPolicy to Orphan" {
		t.Errorf("%+v", d)
	}
}

// A destroy can take nothing into a state that its engine encrypts. One that found nothing in it to destroy went well all the same, and
// nobody had to approve it.
func TestAJournalKeepsAStackFromGoingWhoseStateIsEncrypted(t *testing.T) {
	w := world(deleted, state(-1), had("net-1", "Succeeded", "sha256:kept", destroys))
	if d := Decide(w); !d.Finish {
		t.Fatalf("%+v", d)
	}
	w.Unsaved = []string{"aws_vpc.a"}
	if d := Decide(w); d.Finish || d.Reason != "DestroyIncomplete" || !strings.Contains(d.Message, "but an apply that was killed created aws_vpc.a, which is in no state") {
		t.Errorf("%+v", d)
	}
}

// Of a journal that cannot be read nobody knows what it has: the Stack stays, and says what to do.
func TestAnUnreadableJournalKeepsAStackFromGoing(t *testing.T) {
	unreadable := func(w *Snapshot) { w.StateUnreadable = "the journal is damaged: remove it" }
	d := Decide(world(deleted, state(0), unreadable))
	if d.Finish || d.Start != nil || !d.Stalled || d.Reason != "DestroyIncomplete" || d.RequeueAfter == 0 ||
		d.Message != "the journal is damaged: remove it; to leave what is left as it is, set spec.deletionPolicy to Orphan" {
		t.Errorf("%+v", d)
	}
	orphans := func(w *Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	if d := Decide(world(deleted, state(0), unreadable, orphans)); !d.Finish {
		t.Errorf("%+v", d)
	}
}
