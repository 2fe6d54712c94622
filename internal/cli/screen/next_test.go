package screen

import (
	"slices"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A command that the output suggests works where the user is: it repeats the flag -n.
func TestSuggestedCommandsRepeatTheNamespace(t *testing.T) {
	run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}}, Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseFailed}}
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
