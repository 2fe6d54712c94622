package code

import (
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

// A Stack has a merge if its commit does, or if its code is that of the base with the merge. What is not fetched, or
// what another branch has, is not known to be merged.
func TestMergedIsWhatTheHistoryHas(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	before := r.push(remote, gitserver.Change{Files: map[string]string{"app/main.tf": "# 1", "net/main.tf": "# 1"}})
	merge := r.push(remote, gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	after := r.push(remote, gitserver.Change{Files: map[string]string{"docs/a.md": "text"}})
	other := r.push(remote, gitserver.Change{Branch: "other", Onto: "main",
		Files: map[string]string{"net/main.tf": "# 3"}})
	repo := r.declare(remote)
	r.settle(repo)
	codes := NewCodes(r.Mirrors)
	m, err := codes.Merged(t.Context(), repo, "main", merge)
	if err != nil || !m.Known || !m.InBase || m.Base != after {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, tt := range map[string]struct {
		stack, revision string
		has, same       bool
	}{
		"the merge":                               {"net", "main@sha1:" + merge, true, true},
		"a later commit":                          {"net", "main@sha1:" + after, true, true},
		"an earlier commit with other code":       {"net", "main@sha1:" + before, false, false},
		"an earlier commit with the same code":    {"app", "main@sha1:" + before, false, true},
		"a commit that is not in the mirror":      {"app", "main@sha1:" + strings.Repeat("1", 40), false, false},
		"a revision that names no commit":         {"app", "sha256:1f3c", false, false},
		"no revision":                             {"app", "", false, false},
		"an earlier commit without the directory": {"app", "main@sha1:" + r.first(remote), false, false},
	} {
		has, err := m.Has(t.Context(), tt.revision)
		same := m.IsSame(t.Context(), r.stack(repo, "web", tt.stack, ""), tt.revision)
		if err != nil || has != tt.has || same != tt.same {
			t.Errorf("%s: %t, %t, %v", name, has, same, err)
		}
	}
	if codes.histories.Len() == 0 || codes.same.Len() == 0 {
		t.Error("each reconcile searches the history again")
	}
	net := r.stack(repo, "web", "net", "")
	if m.IsRead(t.Context(), net) {
		t.Error("no reconcile of the Stack read anything")
	}
	if _, err := codes.Observe(t.Context(), repo, net); err != nil || !m.IsRead(t.Context(), net) {
		t.Error("the Stack read the base", err)
	}
	for name, tt := range map[string]struct {
		branch, commit string
		known          bool
	}{
		"of another branch": {"main", other, true},
		"not fetched":       {"main", strings.Repeat("1", 40), false},
		"of no branch":      {"none", merge, false},
	} {
		m, err := codes.Merged(t.Context(), repo, tt.branch, tt.commit)
		if err != nil || m.InBase || m.Known != tt.known {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		has, err := m.Has(t.Context(), "main@sha1:"+after)
		if has || err != nil || m.IsSame(t.Context(), net, "main@sha1:"+after) || m.IsRead(t.Context(), net) {
			t.Errorf("%s: %t, %v", name, has, err)
		}
	}
}

// first returns the first commit of a repository.
func (r *env) first(remote *gitserver.Repo) string {
	r.t.Helper()
	id, err := remote.Git("rev-list", "--max-parents=0", "main")
	must(r.t, err)
	return strings.TrimSpace(id)
}
