package index

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A Run of a pull request is not in the history of its Stack and holds up none of its Runs, but a change of the Stack
// wakes it.
func TestRunsOfPullRequestsAreNotTheStacks(t *testing.T) {
	run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}}}
	if got := StackNames(run); len(got) != 1 || got[0] != "net" {
		t.Errorf("a Run of the Stack: %q", got)
	}
	run.Spec.PullRequest = &v1alpha1.RunPullRequest{Name: "infra-12"}
	if got := StackNames(run); len(got) != 0 {
		t.Errorf("a Run of a pull request: %q", got)
	}
	if got := UnfinishedStackNames(run); len(got) != 1 {
		t.Errorf("an unfinished Run of a pull request: %q", got)
	}
}
