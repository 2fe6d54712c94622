package code

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// TestProposalThatChangesBrokenCodeAffectsItsStack checks code that a user has to correct: it has no digest before and
// after, which is not the same as code that did not change. A pull request that does not touch it does not affect it.
func TestProposalThatChangesBrokenCodeAffectsItsStack(t *testing.T) {
	calls := func(module, source string) string {
		return "module \"" + module + "\" {\n  source = \"" + source + "\"\n}\n"
	}
	r := newEnv(t)
	remote := r.remote("infra")
	r.push(remote, gitserver.Change{Files: map[string]string{
		"app/main.tf": calls("a", "../a"), "same/main.tf": calls("a", "../a"), "other/main.tf": calls("a", "../a"),
	}})
	repo := r.declare(remote)
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main", Files: map[string]string{
		"app/main.tf": calls("b", "../typo"), "same/main.tf": calls("b", "../a"),
	}})
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	proposal := r.propose(codes, repo, head)
	for path, want := range map[string]bool{"app": true, "same": true, "other": false} {
		stack := r.stack(repo, "web", path, "")
		if affects, err := proposal.Affects(t.Context(), repo, stack); err != nil || affects != want {
			t.Errorf("%s: affects %t, %v", path, affects, err)
		}
	}
}

// TestProposalThatChangesABrokenModuleAffectsItsStack checks modules outside of the Stack's directory whose error stays
// the same: those that Cairn follows before the error and after it.
func TestProposalThatChangesABrokenModuleAffectsItsStack(t *testing.T) {
	const gone = "module \"gone\" { source = \"./gone\" }\n"
	r := newEnv(t)
	remote := r.remote("infra")
	r.push(remote, gitserver.Change{Files: map[string]string{
		"app/main.tf": "module \"m\" { source = \"../m\" }", "m/main.tf": gone,
		"late/main.tf": gone + "module \"n\" { source = \"../n\" }", "n/main.tf": "# n",
		"other/main.tf": "module \"o\" { source = \"../o\" }", "o/main.tf": gone,
		"values/main.tf": "module \"n\" { source = \"../n\" }",
	}})
	repo := r.declare(remote)
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main", Files: map[string]string{
		"m/more.tf": "# more", "n/more.tf": "# more",
	}})
	r.settle(repo)
	proposal := r.propose(NewCodes(r.Mirrors), repo, head)
	for path, want := range map[string]bool{"app": true, "late": true, "other": false, "values": true} {
		stack := r.stack(repo, "web", path, "")
		if path == "values" {
			stack.Spec.VariableFiles = []v1alpha1.VariableFile{{Path: "gone.tfvars"}}
		}
		if affects, err := proposal.Affects(t.Context(), repo, stack); err != nil || affects != want {
			t.Errorf("%s: affects %t, %v", path, affects, err)
		}
	}
}

// TestProposalDeletesADirectoryHoweverItIsNamed checks that spec.source.git.path may end with a slash or begin with ./.
func TestProposalDeletesADirectoryHoweverItIsNamed(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	r.push(remote, gitserver.Change{Files: map[string]string{"old/main.tf": "# old", "app/main.tf": "# app"}})
	repo := r.declare(remote)
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main",
		Files: map[string]string{"old/main.tf": ""}})
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	proposal := r.propose(codes, repo, head)
	for _, path := range []string{"old", "old/", "./old", "old/."} {
		stack := r.stack(repo, "web", path, "")
		if _, err := codes.Of(t.Context(), repo, stack); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if affects, err := proposal.Affects(t.Context(), repo, stack); err != nil || !affects {
			t.Errorf("%q: affects %t, %v", path, affects, err)
		}
		if !proposal.Deletes(stack) {
			t.Errorf("%q: the directory is deleted, and it is planned as if it existed", path)
		}
	}
	for _, path := range []string{"", ".", "app"} {
		if proposal.Deletes(r.stack(repo, "web", path, "")) {
			t.Errorf("%q is not deleted", path)
		}
	}
}

// propose returns the proposal of a head for main.
func (r *env) propose(codes *Codes, repo *v1alpha1.Repository, head string) *Proposal {
	r.t.Helper()
	proposal, err := codes.Propose(r.t.Context(), repo, "main", head, "pull/12")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = proposal.Close() })
	return proposal
}
