package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	states "cairn.dev/cairn/internal/state"
)

func leavesOut(r *v1alpha1.Run) {
	r.Status.Plan.Orphaned = []v1alpha1.Orphan{{Address: "aws_vpc.a", Reason: "it has no importer"}}
}

func withoutPlan(r *v1alpha1.Run) { r.Status.Plan = nil }

func TestOrphaned(t *testing.T) {
	const told = "an apply that was killed made aws_vpc.a, which could not be taken into the state (it has no importer); the log of Run net-1 has its ID"
	for name, test := range map[string]struct {
		world World
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
			test.world.Stack.Status = status(test.world, Decide(test.world))
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
		if s := status(gone, Decide(gone)); apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUntrackedResources) != nil {
			t.Errorf("%s: it stays", name)
		}
	}
}

// A Stack goes only when nothing exists that no state knows.
func TestAJournalKeepsAStackFromGoing(t *testing.T) {
	unsaved := func(w *World) { w.Unsaved = []string{"aws_vpc.a"} }
	if d := Decide(world(deleted, state(0))); !d.Finish {
		t.Fatalf("%+v", d)
	}
	if d := Decide(world(deleted, state(0), unsaved)); d.Finish || d.Start == nil || d.Start.Operation != v1alpha1.OperationDestroy {
		t.Errorf("%+v", d)
	}
	d := Decide(world(deleted, state(0), unsaved, had("net-1", "Succeeded", "sha256:kept", destroys)))
	if d.Finish || d.Reason != "DestroyIncomplete" || d.Message != "Run net-1 destroyed what the state had, but an apply that was killed made aws_vpc.a, which is in no state: cairn retry net destroys once more; or delete what is left by hand, then set spec.deletionPolicy to Orphan" {
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
	if d := Decide(w); d.Finish || d.Reason != "DestroyIncomplete" || !strings.Contains(d.Message, "but an apply that was killed made aws_vpc.a, which is in no state") {
		t.Errorf("%+v", d)
	}
}

// Of a journal that cannot be read nobody knows what it has: the Stack stays, and says what to do.
func TestAnUnreadableJournalKeepsAStackFromGoing(t *testing.T) {
	unreadable := func(w *World) { w.Unreadable = "the journal is damaged: remove it" }
	d := Decide(world(deleted, state(0), unreadable))
	if d.Finish || d.Start != nil || !d.Stalled || d.Reason != "DestroyIncomplete" || d.RequeueAfter == 0 ||
		d.Message != "the journal is damaged: remove it; to leave what is left as it is, set spec.deletionPolicy to Orphan" {
		t.Errorf("%+v", d)
	}
	orphans := func(w *World) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	if d := Decide(world(deleted, state(0), unreadable, orphans)); !d.Finish {
		t.Errorf("%+v", d)
	}
}

// journals are States whose journal is asked for.
type journals struct {
	States
	err   error
	asked int
}

func (j *journals) Unsaved(context.Context, client.ObjectKey) ([]string, error) {
	j.asked++
	return []string{"aws_vpc.a"}, j.err
}

func TestGatherUnsaved(t *testing.T) {
	boom := errors.New("the bucket is away")
	orphans := func(w *World) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	for name, tt := range map[string]struct {
		world      World
		err        error
		asked      int
		unreadable string
		fails      error
	}{
		"of a state without resources":                          {world(deleted, state(0)), nil, 1, "", nil},
		"not of one with some":                                  {world(deleted, state(3)), nil, 0, "", nil},
		"of one that its engine encrypts, once it is destroyed": {world(deleted, state(-1)), nil, 1, "", nil},
		"not when all stays as it is":                           {world(deleted, state(0), orphans), nil, 0, "", nil},
		"what cannot be read is told":                           {world(deleted, state(0)), fmt.Errorf("read: %w", &states.Refusal{Message: "damaged"}), 1, "damaged", nil},
		"what may pass is tried again":                          {world(deleted, state(0)), boom, 1, "", boom},
	} {
		j := &journals{err: tt.err}
		r := &Reconciler{States: j}
		if err := r.gatherUnsaved(t.Context(), &tt.world); !errors.Is(err, tt.fails) || j.asked != tt.asked || tt.world.Unreadable != tt.unreadable {
			t.Errorf("%s: %v, asked %d, %q", name, err, j.asked, tt.world.Unreadable)
		}
	}
}

func (j *journals) Promote(context.Context, client.ObjectKey) error {
	j.asked++
	return j.err
}

// Before a Stack without a State goes, what the bucket knows of it is put back: Kubernetes may have forgotten it.
func TestWhatIsForgottenCountsBeforeAStackGoes(t *testing.T) {
	boom := errors.New("the bucket is away")
	orphans := func(w *World) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	refused := func(reason states.Reason) error { return &states.Refusal{Reason: reason, Message: "refused"} }
	for name, tt := range map[string]struct {
		world      World
		err        error
		asked      int
		unreadable string
		fails      error
	}{
		"none":                                   {world(deleted), nil, 1, "", nil},
		"not when all stays as it is":            {world(deleted, orphans), nil, 0, "", nil},
		"what cannot be read is told":            {world(deleted), refused(states.Damaged), 1, "refused", nil},
		"what another Stack left is not its own": {world(deleted), refused(states.Stale), 1, "", nil},
		"what may pass is tried again":           {world(deleted), boom, 1, "", boom},
	} {
		j := &journals{err: tt.err}
		r := &Reconciler{States: j}
		if err := r.promote(t.Context(), &tt.world); !errors.Is(err, tt.fails) || j.asked != tt.asked || tt.world.Unreadable != tt.unreadable {
			t.Errorf("%s: %v, asked %d, %q", name, err, j.asked, tt.world.Unreadable)
		}
	}
	w := world(deleted, state(3))
	w.State.Status.Version = 1
	r := &Reconciler{States: &journals{err: refused(states.Stale)}}
	if err := r.promote(t.Context(), &w); err != nil || w.Unreadable != "refused" {
		t.Errorf("a state that went its own way: %v, %q", err, w.Unreadable)
	}
}
