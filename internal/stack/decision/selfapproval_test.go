package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestTheStateKeepsTheRuleAboutSelfApproval(t *testing.T) {
	rule, removed := &v1alpha1.KeptSelfApproval{}, &v1alpha1.KeptSelfApproval{RemovedBy: "bob"}
	for name, tt := range map[string]struct {
		spec       bool
		kept, want *v1alpha1.KeptSelfApproval
	}{
		"a Stack without the rule":         {false, nil, nil},
		"a Stack with the rule":            {true, nil, rule},
		"the rule stays":                   {true, rule, rule},
		"a user removes it from the Stack": {false, rule, &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}},
		"the user who changes the Stack later is not the one who removed it": {false, removed, removed},
		"a user who sets it again": {true, removed, rule},
	} {
		stack := &v1alpha1.Stack{}
		stack.Annotations = map[string]string{v1alpha1.ChangedByAnnotation: "alice"}
		stack.Spec.PreventSelfApproval = tt.spec
		if diff := cmp.Diff(tt.want, KeptSelfApproval(stack, tt.kept)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// A Run has the rules of its State, whatever the spec of the Stack has.
func TestRunsFollowTheRulesThatTheStateKeeps(t *testing.T) {
	changedBy := annotate(v1alpha1.ChangedByAnnotation, "alice")
	prevents := func(w *Snapshot) { w.Stack.Spec.PreventSelfApproval = true }
	keeps := func(by string) func(*Snapshot) {
		return func(w *Snapshot) { w.State.Status.SelfApproval = &v1alpha1.KeptSelfApproval{RemovedBy: by} }
	}
	of := func(uid string) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.UID, w.State.Status.StackUID = "now", types.UID(uid) }
	}
	for name, tt := range map[string]struct {
		world     Snapshot
		prevents  bool
		removedBy string
		takesOver bool
	}{
		"no rule":               {world(changedBy, state(1)), false, "", false},
		"the rule of the Stack": {world(changedBy, prevents), true, "", false},
		"a Stack that was never applied keeps none":    {world(changedBy), false, "", false},
		"the user who changes the Stack removes it":    {world(changedBy, state(1), keeps("")), true, "alice", false},
		"another user removed it":                      {world(changedBy, state(1), keeps("bob")), true, "bob", false},
		"the Stack has it again":                       {world(changedBy, prevents, state(1), keeps("bob")), true, "", false},
		"a State of the Stack":                         {world(changedBy, state(1), of("now")), false, "", false},
		"a State of which the Stack is not known":      {world(changedBy, state(1), of("")), false, "", false},
		"a State of an earlier Stack of the same name": {world(changedBy, state(1), of("before")), false, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.world)
			if d.Start == nil {
				t.Fatalf("nothing starts: %+v", d)
			}
			if s := d.Start; s.PreventSelfApproval != tt.prevents || s.SelfApprovalRemovedBy != tt.removedBy || s.TakesOverState != tt.takesOver {
				t.Errorf("%v, %q, %v; want %v, %q, %v", s.PreventSelfApproval, s.SelfApprovalRemovedBy, s.TakesOverState, tt.prevents, tt.removedBy, tt.takesOver)
			}
		})
	}
}

// The source that the status has is that of the last apply, so that a change of it has its user until it is applied.
func TestTheSourceOfTheLastApplyIsKept(t *testing.T) {
	good := &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://good.example.com"}
	evil := &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://evil.example.com"}
	knows := func(o *v1alpha1.GitOrigin) func(*Snapshot) { return func(w *Snapshot) { w.Stack.Status.Source = o } }
	reads := func(w *Snapshot) { w.Source, w.RepositoryChangedBy = evil, "alice" }
	from := func(by string) func(*v1alpha1.Run) {
		return func(r *v1alpha1.Run) { r.Spec.Source, r.Spec.Cause.By = evil, by }
	}
	for name, tt := range map[string]struct {
		world Snapshot
		want  *v1alpha1.GitOrigin
	}{
		"the first one that is read":                            {world(reads), evil},
		"another one that is read":                              {world(knows(good), reads), good},
		"a Run plans it":                                        {world(knows(good), reads, had("net-1", "AwaitingApproval", "sha256:now", from("alice"))), good},
		"a Run plans it without changes":                        {world(knows(good), reads, had("net-1", "Succeeded", "sha256:now", from("alice"))), good},
		"an apply of the user who changed it":                   {world(knows(good), reads, had("net-1", "Succeeded", "sha256:now", from("alice"), began)), evil},
		"an apply of another user, whom alice could approve":    {world(knows(good), reads, had("net-1", "Succeeded", "sha256:now", from("bob"), began)), good},
		"an apply that nobody caused, whom alice could approve": {world(knows(good), reads, had("net-1", "Succeeded", "sha256:now", from(""), began)), good},
		"code that is not from git":                             {world(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Status(tt.world, Decide(tt.world)).Source); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
