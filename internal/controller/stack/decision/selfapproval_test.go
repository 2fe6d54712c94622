package decision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestStateRecordsPreventSelfApproval(t *testing.T) {
	rule, removed := &v1alpha1.KeptSelfApproval{}, &v1alpha1.KeptSelfApproval{RemovedBy: "bob"}
	for name, tt := range map[string]struct {
		spec       bool
		kept, want *v1alpha1.KeptSelfApproval
	}{
		"no rule":                          {false, nil, nil},
		"preventSelfApproval of the Stack": {true, nil, rule},
		"the recorded rule is kept":        {true, rule, rule},
		"a user removes it from the Stack": {false, rule,
			&v1alpha1.KeptSelfApproval{RemovedBy: "alice"}},
		"a user changes the Stack after another one removed it": {false, removed, removed},
		"a user sets it again": {true, removed, rule},
	} {
		stack := &v1alpha1.Stack{}
		stack.Annotations = map[string]string{v1alpha1.ChangedByAnnotation: "alice"}
		stack.Spec.PreventSelfApproval = tt.spec
		if diff := cmp.Diff(tt.want, KeptSelfApproval(stack, tt.kept)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestRunsFollowTheRuleOfTheState checks that a Run has the rule that its State records, whatever the spec of the
// Stack.
func TestRunsFollowTheRuleOfTheState(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "alice")
	prevents := func(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }
	keeps := func(by string) func(*Snapshot) {
		return func(w *Snapshot) { w.State.Status.SelfApproval = &v1alpha1.KeptSelfApproval{RemovedBy: by} }
	}
	for name, tt := range map[string]struct {
		snapshot  Snapshot
		prevents  bool
		removedBy string
	}{
		"no rule":               {newSnapshot(changedBy, state(1)), false, ""},
		"the rule of the Stack": {newSnapshot(changedBy, prevents), true, ""},
		"a Stack that was never applied has no recorded rule": {newSnapshot(changedBy), false, ""},
		"the user who changes the Stack removes it": {newSnapshot(changedBy, state(1), keeps("")),
			true, "alice"},
		"another user removed it": {newSnapshot(changedBy, state(1), keeps("bob")), true, "bob"},
		"the Stack sets it again": {newSnapshot(changedBy, prevents, state(1), keeps("bob")), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			if d.Start == nil {
				t.Fatalf("no Run starts: %+v", d)
			}
			if s := d.Start; s.PreventSelfApproval != tt.prevents || s.SelfApprovalRemovedBy != tt.removedBy {
				t.Errorf("%v, %q; want %v, %q", s.PreventSelfApproval, s.SelfApprovalRemovedBy, tt.prevents,
					tt.removedBy)
			}
		})
	}
}

// TestSourceOfTheLastApplyIsRecorded checks that the status has the source of the last apply, so that the user who
// changes it remains its cause until it is applied.
func TestSourceOfTheLastApplyIsRecorded(t *testing.T) {
	firstSource := &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://good.example.com"}
	otherSource := &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://evil.example.com"}
	withSource := func(o *v1alpha1.GitOrigin) func(*Snapshot) { return func(w *Snapshot) { w.Stack.Status.Source = o } }
	reads := func(w *Snapshot) { w.Source, w.RepositoryChangedBy = otherSource, "alice" }
	from := func(by string) func(*v1alpha1.Run) {
		return func(r *v1alpha1.Run) { r.Spec.Source, r.Spec.Cause.By = otherSource, by }
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     *v1alpha1.GitOrigin
	}{
		"the first source": {newSnapshot(reads), otherSource},
		"another source":   {newSnapshot(withSource(firstSource), reads), firstSource},
		"another source with a plan that waits for approval": {newSnapshot(withSource(firstSource), reads,
			withRun("net-1", "AwaitingApproval", "sha256:now", from("alice"))), firstSource},
		"another source with a plan without changes": {newSnapshot(withSource(firstSource), reads,
			withRun("net-1", "Succeeded", "sha256:now", from("alice"))), firstSource},
		"an apply of the user who changed it": {newSnapshot(withSource(firstSource), reads,
			withRun("net-1", "Succeeded", "sha256:now", from("alice"), applyStarted)), otherSource},
		"an apply of another user, whom alice could approve": {newSnapshot(withSource(firstSource), reads,
			withRun("net-1", "Succeeded", "sha256:now", from("bob"), applyStarted)), firstSource},
		"an apply without a user, whom alice could approve": {newSnapshot(withSource(firstSource), reads,
			withRun("net-1", "Succeeded", "sha256:now", from(""), applyStarted)), firstSource},
		"code that is not from git": {newSnapshot(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Status(tt.snapshot, Decide(tt.snapshot)).Source); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDeletionLeavesAStateThatTheStackNeverApplied checks that a deletion destroys only what the Stack itself applied,
// unless a user with the verb destroy asked for it.
func TestDeletionLeavesAStateThatTheStackNeverApplied(t *testing.T) {
	of := func(uid types.UID) func(*Snapshot) { return func(w *Snapshot) { w.State.Status.StackUID = uid } }
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"the Stack applied it":                {newSnapshot(deleted, state(3)), "starts"},
		"nobody did":                          {newSnapshot(deleted, state(3), of("")), "leaves"},
		"an earlier Stack did":                {newSnapshot(deleted, state(3), of("before")), "leaves"},
		"only its engine can read it":         {newSnapshot(deleted, state(-1), of("")), "leaves"},
		"the Stack is suspended":              {newSnapshot(deleted, suspended, state(3), of("")), "leaves"},
		"an earlier Stack left nothing in it": {newSnapshot(deleted, state(0), of("before")), "removes"},
		"the Stack is protected":              {newSnapshot(deleted, protect, state(3), of("")), "stays"},
		"a user asks to destroy": {newSnapshot(deleted, state(3), of(""), withRequest("Destroy")),
			"starts"},
		"a user asked to plan before it was deleted": {newSnapshot(deleted, state(3), of(""), withRequest("Plan")),
			"leaves"},
		"a destroy that a user asked for waits": {
			newSnapshot(deleted, state(3), of(""), withRun("net-2", "AwaitingApproval", "sha256:last",
				destroyOperation)), "stays"},
		"that destroy was rejected": {
			newSnapshot(deleted, state(3), of(""), withRun("net-2", "Canceled", "sha256:last", destroyOperation)),
			"leaves"},
		"a plan of the Stack ends first": {
			newSnapshot(deleted, state(3), of(""), withRun("net-2", "Planning", "sha256:now")), "stays"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			got := map[bool]string{true: "leaves", false: "stays"}[d.Finish]
			switch {
			case d.Start != nil:
				got = "starts"
			case d.RemoveState:
				got = "removes"
			}
			if says := strings.Contains(d.Message, "cairn destroy net, before you delete it"); got != tt.want ||
				says != (got == "leaves") {
				t.Errorf("got %s, %+v", got, d)
			}
		})
	}
}
