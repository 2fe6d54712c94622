package git

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/git/credentials"
)

// all returns the tree of main, and its root.
func (f *fixture) all() (*Tree, []Entry) {
	f.Helper()
	commit, err := f.m.Resolve(f.Context(), "main")
	f.must(err)
	tree, err := f.m.Tree(f.Context(), commit.ID)
	f.must(err)
	root, _ := tree.Entry("")
	return tree, []Entry{root}
}

// archiveTimesOut packs all of main, and expects ErrTimeout within the deadline. No process that it started is left.
func (f *fixture) archiveTimesOut() {
	f.Helper()
	tree, files := f.all()
	before := len(processes(f.m.path(modules)))
	ctx, cancel := context.WithTimeout(f.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := f.m.Archive(ctx, tree, files, io.Discard)
	fails(f.T, err, ErrTimeout, "took too long")
	if took := time.Since(began); took > time.Minute {
		f.Errorf("it took %v", took)
	}
	until(f.T, func() bool { return len(processes(f.m.path(modules))) <= before })
}

func TestArchiveRespectsItsDeadline(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*fixture){
		"a submodule": func(f *fixture) {
			id := f.commit(map[string]string{"main.tf": "a"})
			_, err := f.repo.AddSubmodule("x", "../infra.git", id)
			f.must(err)
			f.fetch()
			f.http.Hang(true)
		},
		"a submodule that another archive waits for": func(f *fixture) {
			id := f.commit(map[string]string{"main.tf": "a"})
			_, err := f.repo.AddSubmodule("x", "../infra.git", id)
			f.must(err)
			f.fetch()
			f.http.Hang(true)
			beside, err := f.m.besideMirror(f.Context(), f.remote().URL)
			f.must(err)
			other := make(chan error, 1)
			seen := len(f.http.Requests())
			go func() { other <- beside.Fetch(context.Background(), f.remote(), FetchOptions{}) }()
			until(f.T, func() bool { return len(f.http.Requests()) > seen })
			f.Cleanup(func() {
				f.http.Hang(false)
				f.must(<-other)
			})
		},
		"where a file of LFS is": func(f *fixture) {
			f.commitLFS("content")
			f.fetch()
			f.http.Hang(true)
		},
		"the rest of a file of LFS": func(f *fixture) {
			f.commitLFS(strings.Repeat("content ", 1000))
			f.fetch()
			f.http.StallLFS(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Options{Submodules: true, LFS: true})
			f.T = t
			prepare(f)
			f.archiveTimesOut()
		})
	}
}

func TestWaitForASharedTokenRespectsTheDeadline(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{LFS: true})
	f.commitLFS("content")
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		rw.WriteHeader(http.StatusCreated)
		json.NewEncoder(rw).Encode(map[string]any{"token": "ghs_1", "expires_at": time.Now().Add(time.Hour)})
	}))
	defer api.Close()
	f.fetch()
	remote := f.remote()
	remote.Auth.GitHubApp = &credentials.GitHubApp{ID: 3, InstallationID: 7, PrivateKey: appKey(t), BaseURL: api.URL}
	f.m.origin = &remote
	other := make(chan error, 1)
	go func() { other <- f.m.Fetch(t.Context(), remote, FetchOptions{}) }()
	<-asked
	f.archiveTimesOut()
	close(answer)
	f.must(<-other)
}

func TestTruncatedLFSResponseIsUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{LFS: true})
	f.commitLFS(strings.Repeat("content ", 1000))
	f.fetch()
	f.http.StallLFS(true)
	errs := make(chan error, 1)
	tree, all := f.all()
	go func() { errs <- f.m.Archive(t.Context(), tree, all, io.Discard) }()
	until(t, func() bool { return len(f.files()) > 0 })
	f.http.CutOff()
	fails(t, <-errs, ErrUnreachable, "ends in the middle")
	if left := f.files(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// files of LFS that are there, or on their way.
func (f *fixture) files() []string {
	f.Helper()
	return files(f.T, f.m.path(lfsObjects))
}
