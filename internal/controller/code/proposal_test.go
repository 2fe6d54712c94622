package code

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/test/gitserver"
)

// Affected are exactly the Stacks whose code the merge changes, whatever the number of changed files, and a directory
// that is deleted is known as such. atlantis #1178, #941: a deleted directory was not planned. digger #2687: a pull
// request of more than 300 files failed.
func TestProposalAffectsTheStacksWhoseCodeTheMergeChanges(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	calls := "module \"common\" {\n  source = \"../common\"\n}\n"
	r.push(remote, gitserver.Change{Files: map[string]string{"app/main.tf": calls, "common/main.tf": "# 1",
		"old/main.tf": "# old", "other/main.tf": "# other"}})
	repo := r.declare(remote)
	many := map[string]string{"common/main.tf": "# 2", "old/main.tf": "", "docs/net.md": "net"}
	for i := range 100_000 {
		many[fmt.Sprintf("docs/%d/%d.md", i/1000, i)] = "text"
	}
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main", Files: many})
	r.push(remote, gitserver.Change{Files: map[string]string{"other/main.tf": "# of the base"}}) // after the head began
	conflict := r.push(remote, gitserver.Change{Branch: "conflict", Onto: "change~1",
		Files: map[string]string{"other/main.tf": "# of the head"}})
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	proposal, err := codes.Propose(t.Context(), repo, "main", head, "pull/12")
	if err != nil {
		t.Fatal(err)
	}
	defer proposal.Close()
	var affected []string
	stacks := map[string]*v1alpha1.Stack{}
	for _, folder := range []string{"app", "net", "old", "other"} {
		stacks[folder] = r.stack(repo, "web", folder, "")
		if affects, err := proposal.Affects(t.Context(), repo, stacks[folder]); err != nil {
			t.Fatal(err)
		} else if affects {
			affected = append(affected, folder)
		}
	}
	if !slices.Equal(affected, []string{"app", "old"}) {
		t.Errorf("affected: %v", affected)
	}
	if !proposal.Deletes(stacks["old"]) || proposal.Deletes(stacks["app"]) {
		t.Error("the directory that is deleted is old")
	}
	code, err := proposal.Of(t.Context(), repo, stacks["app"])
	if err != nil || len(code.Files) != 2 || code.Revision != "pull/12@sha1:"+head {
		t.Errorf("%+v, %v", code, err)
	}
	if before, err := codes.Of(t.Context(), repo, stacks["app"]); err != nil || before.Digest == code.Digest {
		t.Errorf("the code of the base has the digest %s, %v", before.Digest, err)
	}

	second, err := codes.Propose(t.Context(), repo, "main", conflict, "pull/13")
	if err != nil || !slices.Equal(second.Conflicts(), []string{"other/main.tf"}) || second.Tree() != "" {
		t.Fatalf("%+v, %v", second, err)
	}
	defer second.Close()
	if _, err := codes.Propose(t.Context(), repo, "main", "1111111111111111111111111111111111111111",
		"pull/14"); !errors.Is(err, repository.ErrNotFetched) {
		t.Errorf("a commit that is not fetched: %v", err)
	}
	if _, err := codes.Propose(t.Context(), repo, "none", head, "pull/15"); Reason(err) != v1alpha1.ReasonRefNotFound {
		t.Errorf("a base that does not exist: %v", err)
	}
	full := r.stack(repo, "web", "app", "refs/heads/change")
	if codes.Reads(t.Context(), repo, full, "main") || !codes.Reads(t.Context(), repo, full, "change") {
		t.Error("refs/heads/change is the branch change")
	}
	if !codes.Reads(t.Context(), repo, stacks["app"], "main") || codes.Reads(t.Context(), repo, stacks["app"],
		"change") {
		t.Error("the Stacks read main")
	}
}

// Diverged are exactly the Stacks whose code the base changes since the head began, also after the base was merged into
// the head.
func TestProposalDivergesFromTheBase(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	calls := "module \"common\" {\n  source = \"../common\"\n}\n"
	r.push(remote, gitserver.Change{Files: map[string]string{"app/main.tf": calls, "common/main.tf": "# 1",
		"net/main.tf": "# 1", "other/main.tf": "# 1"}})
	repo := r.declare(remote)
	head := r.push(remote, gitserver.Change{Branch: "change", Onto: "main",
		Files: map[string]string{"app/more.tf": "# of the head", "net/more.tf": "# of the head"}})
	// of the base
	r.push(remote, gitserver.Change{Files: map[string]string{"common/main.tf": "# 2", "docs/net.md": "text"}})
	newer := r.push(remote, gitserver.Change{Branch: "newer", Onto: "main",
		Files: map[string]string{"app/more.tf": "# of the head"}})
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	for commit, want := range map[string][]string{head: {"app"}, newer: nil} {
		proposal, err := codes.Propose(t.Context(), repo, "main", commit, "pull/12")
		if err != nil {
			t.Fatal(err)
		}
		var diverged []string
		for _, folder := range []string{"app", "net", "other"} {
			if differs, err := proposal.Diverged(t.Context(), repo, r.stack(repo, "web", folder, "")); err != nil {
				t.Fatal(err)
			} else if differs {
				diverged = append(diverged, folder)
			}
		}
		if !slices.Equal(diverged, want) {
			t.Errorf("diverged at %s: %v, want %v", commit, diverged, want)
		}
		if err := proposal.Close(); err != nil {
			t.Error(err)
		}
	}
}
