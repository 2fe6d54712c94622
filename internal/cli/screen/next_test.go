package screen

import (
	"slices"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A command that the output suggests works where the user is: it repeats the flag -n.
func TestSuggestedCommandsRepeatTheNamespace(t *testing.T) {
	run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}},
		Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseFailed}}
	run.Name = "net-7"
	for namespace, want := range map[string][]string{
		"":     {"cairn logs net-7 shows why", "cairn retry net retries it"},
		"prod": {"cairn -n prod logs net-7 shows why", "cairn -n prod retry net retries it"},
	} {
		got := Description{Run: run, Alone: true}.hints(Style{Program: "cairn", Namespace: namespace})
		if !slices.Equal(got, want) {
			t.Errorf("in namespace %q: %q", namespace, got)
		}
	}
}

func TestNextStepsOfAStackSet(t *testing.T) {
	for name, tt := range map[string]struct {
		spec v1alpha1.StackSetSpec
		want []string
	}{
		"in one namespace": {v1alpha1.StackSetSpec{Mode: v1alpha1.StackSetCreate},
			[]string{"cairn -n prod get stacks --stackset teams shows the Stacks"}},
		"in others": {v1alpha1.StackSetSpec{Mode: v1alpha1.StackSetCreate, Namespaces: []string{"shop"}},
			[]string{"cairn -n prod get stacks -A --stackset teams shows the Stacks"}},
		"a preview": {v1alpha1.StackSetSpec{Mode: v1alpha1.StackSetPreview},
			[]string{"set spec.mode to Create to have the Stacks written",
				"cairn -n prod get stacks --stackset teams shows the Stacks"}},
	} {
		set := &v1alpha1.StackSet{Spec: tt.spec}
		set.Name = "teams"
		if got := stackSetHints(set, Style{Program: "cairn", Namespace: "prod"}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestNextStepsAreComplete checks that the CLI has a value for each placeholder in the next steps of reasons: a step
// without one does not apply.
func TestNextStepsAreComplete(t *testing.T) {
	stack, run := &v1alpha1.Stack{}, &v1alpha1.Run{
		Status: v1alpha1.RunStatus{Attempts: []v1alpha1.Attempt{{Pod: "net-7-1"}}}}
	stack.Name, stack.Spec.DependsOn, stack.Status.Drift = "net", []v1alpha1.Dependency{
		{Name: "vpc"}}, &v1alpha1.DriftStatus{Run: "net-6"}
	run.Name, run.Spec.Stack.Name = "net-7", "net"
	names := Description{Stack: stack, Run: run}.names()
	for _, reason := range v1alpha1.Reasons() {
		if got := (Style{Program: "cairn"}).steps(reason, names); len(got) != len(reason.Next) {
			t.Errorf("%s: the next steps are %q, of %q", reason.Name, got, reason.Next)
		}
	}
}
