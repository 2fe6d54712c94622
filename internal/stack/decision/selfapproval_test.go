package decision

import (
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
		"no rule":                                               {false, nil, nil},
		"preventSelfApproval of the Stack":                      {true, nil, rule},
		"the recorded rule is kept":                             {true, rule, rule},
		"a user removes it from the Stack":                      {false, rule, &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}},
		"a user changes the Stack after another one removed it": {false, removed, removed},
		"a user sets it again":                                  {true, removed, rule},
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
	of := func(uid string) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.UID, w.State.Status.StackUID = "now", types.UID(uid) }
	}
	for name, tt := range map[string]struct {
		snapshot  Snapshot
		prevents  bool
		removedBy string
		takesOver bool
	}{
		"no rule":               {newSnapshot(changedBy, state(1)), false, "", false},
		"the rule of the Stack": {newSnapshot(changedBy, prevents), true, "", false},
		"a Stack that was never applied has no recorded rule": {newSnapshot(changedBy), false, "", false},
		"the user who changes the Stack removes it":           {newSnapshot(changedBy, state(1), keeps("")), true, "alice", false},
		"another user removed it":                             {newSnapshot(changedBy, state(1), keeps("bob")), true, "bob", false},
		"the Stack sets it again":                             {newSnapshot(changedBy, prevents, state(1), keeps("bob")), true, "", false},
		"a State of the Stack":                                {newSnapshot(changedBy, state(1), of("now")), false, "", false},
		"a State without a recorded Stack":                    {newSnapshot(changedBy, state(1), of("")), false, "", false},
		"a State of an earlier Stack of the same name":        {newSnapshot(changedBy, state(1), of("before")), false, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			if d.Start == nil {
				t.Fatalf("no Run starts: %+v", d)
			}
			if s := d.Start; s.PreventSelfApproval != tt.prevents || s.SelfApprovalRemovedBy != tt.removedBy || s.TakesOverState != tt.takesOver {
				t.Errorf("%v, %q, %v; want %v, %q, %v", s.PreventSelfApproval, s.SelfApprovalRemovedBy, s.TakesOverState, tt.prevents, tt.removedBy, tt.takesOver)
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
		"another source with a plan that waits for approval": {newSnapshot(withSource(firstSource), reads, withRun("net-1", "AwaitingApproval", "sha256:now", from("alice"))), firstSource},
		"another source with a plan without changes":         {newSnapshot(withSource(firstSource), reads, withRun("net-1", "Succeeded", "sha256:now", from("alice"))), firstSource},
		"an apply of the user who changed it":                {newSnapshot(withSource(firstSource), reads, withRun("net-1", "Succeeded", "sha256:now", from("alice"), applyStarted)), otherSource},
		"an apply of another user, whom alice could approve": {newSnapshot(withSource(firstSource), reads, withRun("net-1", "Succeeded", "sha256:now", from("bob"), applyStarted)), firstSource},
		"an apply without a user, whom alice could approve":  {newSnapshot(withSource(firstSource), reads, withRun("net-1", "Succeeded", "sha256:now", from(""), applyStarted)), firstSource},
		"code that is not from git":                          {newSnapshot(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Status(tt.snapshot, Decide(tt.snapshot)).Source); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
