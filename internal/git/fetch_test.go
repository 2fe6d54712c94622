package git

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

func TestAFetchBringsBranchesAndTagsAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	first := w.change(gitserver.Change{Message: "Widen the subnet\n\nIt was too small.", Files: map[string]string{"main.tf": "a"}})
	w.must(w.repo.Tag("v1", "main", ""))
	w.must(w.repo.Tag("v2", "main", "The second"))
	second := w.commit(map[string]string{"main.tf": "b"})
	side := w.change(gitserver.Change{Branch: "feature/x", Files: map[string]string{"x.tf": "x"}})
	w.fetch()

	w.at("feature/x", side)
	w.at("refs/heads/feature/x", side)
	w.at("refs/tags/v1", first)
	w.at("no-such", "")
	w.at(second[:12], "")
	w.at(strings.Repeat("0", 40), "")
	if c := w.at("", second); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	if c := w.at(first, first); c.Ref != "" {
		t.Errorf("a commit has the ref %q", c.Ref)
	}
	tree, err := w.repo.Git("rev-parse", first+"^{tree}")
	w.must(err)
	want := Commit{ID: first, Tree: tree, Ref: "v2", Author: "Alice", Subject: "Widen the subnet", Time: time.Unix(1_700_000_001, 0).UTC()}
	if diff := cmp.Diff(want, w.at("v2", first)); diff != "" {
		t.Error(diff)
	}
}

func TestALaterFetchFollowsTheRemote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.must(w.repo.Tag("v1", "main", ""))
	w.change(gitserver.Change{Branch: "dir", Files: map[string]string{"x": "x"}})
	w.fetch()

	second := w.commit(map[string]string{"main.tf": "b"})
	w.fetch()
	w.at("main", second)

	forced := w.change(gitserver.Change{Rewrite: true, Files: map[string]string{"main.tf": "c"}})
	w.must(w.repo.Tag("v1", "main", ""))
	w.must(w.repo.DeleteBranch("dir"))
	below := w.change(gitserver.Change{Branch: "dir/below", Files: map[string]string{"x": "y"}})
	w.fetch()
	w.at("main", forced)
	w.at("v1", forced)
	w.at("dir", "")
	w.at("dir/below", below)
}

func TestABranchWinsOverATagOfItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.must(w.repo.Tag("same", "main", ""))
	branch := w.change(gitserver.Change{Branch: "same", Files: map[string]string{"main.tf": "b"}})
	w.fetch()
	w.at("same", branch)
}

func TestATagNamedLikeABranchIsNotTakenForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	w.must(w.repo.Tag("refs/heads/release", "main", ""))
	other := w.commit(map[string]string{"main.tf": "b"})
	_, err := w.repo.Git("update-ref", "refs/heads/"+id, other)
	w.must(err)
	w.fetch()
	w.at("refs/heads/release", "")
	w.at("refs/tags/refs/heads/release", id)
	w.at(id, id) // and not the branch that has it for a name
}

func TestTheDefaultBranchIsTheRemotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.fetch() // an empty repository
	w.at("", "")

	first := w.commit(map[string]string{"main.tf": "a"})
	w.change(gitserver.Change{Branch: "next", Onto: first, Files: map[string]string{"main.tf": "b"}})
	w.fetch()
	if c := w.at("", first); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	w.must(w.repo.SetHead("next"))
	w.fetch()
	if c, err := w.m.Resolve(t.Context(), ""); err != nil || c.Ref != "next" {
		t.Errorf("HEAD is %q, %v", c.Ref, err)
	}
	_, err := w.repo.Git("update-ref", "--no-deref", "HEAD", first) // a HEAD that is no branch
	w.must(err)
	w.fetch()
	if c := w.at("", first); c.Ref != "" {
		t.Errorf("HEAD is %q", c.Ref)
	}
	w.must(w.repo.SetHead("gone"))
	w.fetch()
	w.at("", "")
	w.at("main", first)
}

func TestAFetchOfNothingNewIsOneConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	before := len(w.http.Requests())
	w.fetch()
	if n := len(w.http.Requests()) - before; n > 2 { // capabilities, then refs
		t.Errorf("%d requests", n)
	}
}

func TestCommitsThatNoBranchHasAreFetchedByTheirIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	main := w.commit(map[string]string{"main.tf": "a"})
	pull := w.change(gitserver.Change{Branch: "pull", Files: map[string]string{"main.tf": "pull"}})
	_, err := w.repo.Git("update-ref", "refs/pull/1/head", pull)
	w.must(err)
	w.must(w.repo.DeleteBranch("pull"))
	w.fetch()
	w.at(pull, "")
	w.must(w.m.Fetch(t.Context(), w.remote(), FetchOptions{Commits: []string{main, pull}}))
	w.at(pull, pull)
	w.fetch()
	w.at(pull, pull)

	unknown := strings.Repeat("12", 20)
	next := w.commit(map[string]string{"main.tf": "b"})
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{Commits: []string{unknown}}), ErrNoRef, "no such commit")
	w.at("main", next)
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{Commits: []string{"--upload-pack=x"}}), ErrNoRef, "no such commit: --upload-pack=x")
}

func TestCallersThatAskWhileAFetchRunsShareTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	w.http.Hang(true)
	seen := len(w.http.Requests())
	var group sync.WaitGroup
	fetch := func() {
		group.Go(func() {
			if err := w.m.Fetch(context.Background(), w.remote(), FetchOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	fetch()
	until(t, func() bool { return len(w.http.Requests()) > seen }) // the first is under way
	for range 20 {
		fetch()
	}
	until(t, func() bool {
		w.m.queue.mu.Lock()
		defer w.m.queue.mu.Unlock()
		return len(w.m.queue.waiting) == 1 && w.m.queue.waiting[0].callers == 20
	})
	pushed := w.commit(map[string]string{"main.tf": "b"}) // after they asked, so they need not see it, but do: none began
	w.http.Hang(false)
	group.Wait()
	w.at("main", pushed)
	if n := len(w.http.Requests()) - seen; n > 8 { // two fetches, one of which had something to fetch
		t.Errorf("21 callers made %d requests", n)
	}
}

func TestACallerDoesNotShareTheFetchOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.http.RequireBasic("alice", "the right password")
	w.http.Hang(true)
	right := w.remote()
	right.Auth = Auth{Username: "alice", Password: "the right password"}
	errs := map[string]chan error{"right": make(chan error, 2), "wrong": make(chan error, 1)}
	go func() { errs["right"] <- w.m.Fetch(context.Background(), right, FetchOptions{}) }()
	until(t, func() bool { return len(w.http.Requests()) > 0 })
	go func() { errs["right"] <- w.m.Fetch(context.Background(), right, FetchOptions{}) }()
	go func() { errs["wrong"] <- w.m.Fetch(context.Background(), w.remote(), FetchOptions{}) }()
	until(t, func() bool {
		w.m.queue.mu.Lock()
		defer w.m.queue.mu.Unlock()
		return len(w.m.queue.waiting) == 2
	})
	w.http.Hang(false)
	w.must(<-errs["right"])
	w.must(<-errs["right"])
	fails(t, <-errs["wrong"], ErrAuthentication, "wants credentials")
}

func TestAFetchEndsWhenNobodyWaitsForItOrTheMirrorCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.http.Hang(true)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() { errs <- w.m.Fetch(ctx, w.remote(), FetchOptions{}) }()
	until(t, func() bool { return len(w.http.Requests()) > 0 })
	cancel()
	fails(t, <-errs, context.Canceled, "fetch")
	until(t, func() bool { return len(processes(w.m.dir)) == 0 })

	go func() { errs <- w.m.Fetch(context.Background(), w.remote(), FetchOptions{}) }()
	until(t, func() bool { return len(w.http.Requests()) > 1 })
	w.m.Close()
	fails(t, <-errs, context.Canceled, "fetch")
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{}), errClosed, "")
}

func TestAServerThatDoesNotAnswerIsATimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Timeout: 300 * time.Millisecond})
	w.http.Hang(true)
	err := w.m.Fetch(t.Context(), w.remote(), FetchOptions{})
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
