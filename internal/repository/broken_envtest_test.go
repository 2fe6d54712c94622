//go:build envtest

package repository

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// TestProposalThatChangesBrokenCodeAffectsItsStack checks code that a user has to correct: it has no digest before and after, which
// is not the same as code that did not change. A pull request that does not touch it does not affect it.
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
		stack := r.stack(repo, r.Namespace, path, "")
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
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main", Files: map[string]string{"old/main.tf": ""}})
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	proposal := r.propose(codes, repo, head)
	for _, path := range []string{"old", "old/", "./old", "old/."} {
		stack := r.stack(repo, r.Namespace, path, "")
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
		if proposal.Deletes(r.stack(repo, r.Namespace, path, "")) {
			t.Errorf("%q is not deleted", path)
		}
	}
}

// propose returns the proposal of a head for main.
func (r *env) propose(codes *Codes, repo *v1alpha1.Repository, head string) *Proposal {
	r.Helper()
	proposal, err := codes.Propose(r.Context(), repo, "main", head, "pull/12")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = proposal.Close() })
	return proposal
}
