package git

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

func TestFetchUpdatesBranchesAndTags(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	first := f.change(gitserver.Change{Message: "Widen the subnet\n\nIt was too small.",
		Files: map[string]string{"main.tf": "a"}})
	f.must(f.repo.Tag("v1", "main", ""))
	f.must(f.repo.Tag("v2", "main", "The second"))
	second := f.commit(map[string]string{"main.tf": "b"})
	side := f.change(gitserver.Change{Branch: "feature/x", Files: map[string]string{"x.tf": "x"}})
	f.fetch()

	f.at("feature/x", side)
	f.at("refs/heads/feature/x", side)
	f.at("refs/tags/v1", first)
	f.at("no-such", "")
	f.at(second[:12], "")
	f.at(strings.Repeat("0", 40), "")
	if c := f.at("", second); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	if c := f.at(first, first); c.Ref != "" {
		t.Errorf("a commit has the ref %q", c.Ref)
	}
	tree, err := f.repo.Git("rev-parse", first+"^{tree}")
	f.must(err)
	want := Commit{ID: first, Tree: tree, Ref: "v2", Author: "Alice", Subject: "Widen the subnet",
		Time: time.Unix(1_700_000_001, 0).UTC()}
	if diff := cmp.Diff(want, f.at("v2", first)); diff != "" {
		t.Error(diff)
	}
}

func TestLaterFetchFollowsTheRemote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.must(f.repo.Tag("v1", "main", ""))
	f.change(gitserver.Change{Branch: "dir", Files: map[string]string{"x": "x"}})
	f.fetch()

	second := f.commit(map[string]string{"main.tf": "b"})
	f.fetch()
	f.at("main", second)

	forced := f.change(gitserver.Change{Rewrite: true, Files: map[string]string{"main.tf": "c"}})
	f.must(f.repo.Tag("v1", "main", ""))
	f.must(f.repo.DeleteBranch("dir"))
	below := f.change(gitserver.Change{Branch: "dir/below", Files: map[string]string{"x": "y"}})
	f.fetch()
	f.at("main", forced)
	f.at("v1", forced)
	f.at("dir", "")
	f.at("dir/below", below)
}

func TestBranchTakesPrecedenceOverATagOfTheSameName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.must(f.repo.Tag("same", "main", ""))
	branch := f.change(gitserver.Change{Branch: "same", Files: map[string]string{"main.tf": "b"}})
	f.fetch()
	f.at("same", branch)
}

func TestTagNamedLikeABranchIsNotResolvedAsTheBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.must(f.repo.Tag("refs/heads/release", "main", ""))
	other := f.commit(map[string]string{"main.tf": "b"})
	_, err := f.repo.Git("update-ref", "refs/heads/"+id, other)
	f.must(err)
	f.fetch()
	f.at("refs/heads/release", "")
	f.at("refs/tags/refs/heads/release", id)
	f.at(id, id) // and not the branch that has it for a name
}

func TestDefaultBranchIsThatOfTheRemote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.fetch() // an empty repository
	f.at("", "")

	first := f.commit(map[string]string{"main.tf": "a"})
	f.change(gitserver.Change{Branch: "next", Onto: first, Files: map[string]string{"main.tf": "b"}})
	f.fetch()
	if c := f.at("", first); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	f.must(f.repo.SetHead("next"))
	f.fetch()
	if c, err := f.m.Resolve(t.Context(), ""); err != nil || c.Ref != "next" {
		t.Errorf("HEAD is %q, %v", c.Ref, err)
	}
	_, err := f.repo.Git("update-ref", "--no-deref", "HEAD", first) // a HEAD that is no branch
	f.must(err)
	f.fetch()
	if c := f.at("", first); c.Ref != "" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	f.must(f.repo.SetHead("gone"))
	f.fetch()
	f.at("", "")
	f.at("main", first)
}

func TestFetchWithoutNewCommitsUsesOneConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	before := len(f.http.Requests())
	f.fetch()
	if n := len(f.http.Requests()) - before; n > 2 { // capabilities, then refs
		t.Errorf("%d requests", n)
	}
}

func TestCommitsOutsideOfBranchesAreFetchedByID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	main := f.commit(map[string]string{"main.tf": "a"})
	pull := f.change(gitserver.Change{Branch: "pull", Files: map[string]string{"main.tf": "pull"}})
	_, err := f.repo.Git("update-ref", "refs/pull/1/head", pull)
	f.must(err)
	f.must(f.repo.DeleteBranch("pull"))
	f.fetch()
	f.at(pull, "")
	f.must(f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{main, pull}}))
	f.at(pull, pull)
	f.fetch()
	f.at(pull, pull)

	unknown := strings.Repeat("12", 20)
	next := f.commit(map[string]string{"main.tf": "b"})
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{unknown}}), ErrNoRef, "no such commit")
	f.at("main", next)
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{"--upload-pack=x"}}), ErrNoRef,
		"no such commit: --upload-pack=x")
}

func TestOneFetchRunsAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.http.Hang(true)
	errs := make(chan error, 1)
	go func() { errs <- f.m.Fetch(context.Background(), f.remote(), FetchOptions{}) }()
	until(t, func() bool { return len(f.http.Requests()) > 0 })
	seen := len(f.http.Requests())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	fails(t, f.m.Fetch(ctx, f.remote(), FetchOptions{}), ErrTimeout, "took too long")
	if n := len(f.http.Requests()); n > seen {
		t.Errorf("a second fetch made %d requests meanwhile", n-seen)
	}
	f.http.Hang(false)
	f.must(<-errs)
	pushed := f.commit(map[string]string{"main.tf": "b"})
	f.fetch()
	f.at("main", pushed)
}

func TestFetchIsCanceledWithItsCallerOrTheMirror(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.http.Hang(true)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() { errs <- f.m.Fetch(ctx, f.remote(), FetchOptions{}) }()
	until(t, func() bool { return len(f.http.Requests()) > 0 })
	cancel()
	fails(t, <-errs, context.Canceled, "fetch")
	until(t, func() bool { return len(processes(f.m.dir)) == 0 })

	go func() { errs <- f.m.Fetch(context.Background(), f.remote(), FetchOptions{}) }()
	until(t, func() bool { return len(f.http.Requests()) > 1 })
	f.m.Close()
	fails(t, <-errs, context.Canceled, "fetch")
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{}), errClosed, "")
}

func TestFetchFromAnUnresponsiveServerTimesOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Timeout: 300 * time.Millisecond})
	f.http.Hang(true)
	err := f.m.Fetch(t.Context(), f.remote(), FetchOptions{})
	fails(t, err, ErrTimeout, "took too long")
	if Reason(err) != "Timeout" {
		t.Error(Reason(err))
	}
}

// until waits for what another goroutine or process does.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		time.Sleep(time.Millisecond)
	}
}
