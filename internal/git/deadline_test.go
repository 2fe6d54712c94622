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
)

// all of main.
func (w *world) all() (*Tree, []Entry) {
	w.Helper()
	commit, err := w.m.Resolve(w.Context(), "main")
	w.must(err)
	tree, err := w.m.Tree(w.Context(), commit.ID)
	w.must(err)
	root, _ := tree.Entry("")
	return tree, []Entry{root}
}

// hurried packs all of main, and wants to be told soon that the server takes too long. Nothing that it started is left.
func (w *world) hurried() {
	w.Helper()
	tree, files := w.all()
	before := len(processes(w.m.path(modules)))
	ctx, cancel := context.WithTimeout(w.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := w.m.Archive(ctx, tree, files, io.Discard)
	fails(w.T, err, ErrTimeout, "took too long")
	if took := time.Since(began); took > time.Minute {
		w.Errorf("it took %v", took)
	}
	until(w.T, func() bool { return len(processes(w.m.path(modules))) <= before })
}

func TestAnArchiveWaitsForNoServerLongerThanItMay(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*world){
		"a submodule": func(w *world) {
			id := w.commit(map[string]string{"main.tf": "a"})
			_, err := w.repo.AddSubmodule("x", "../infra.git", id)
			w.must(err)
			w.fetch()
			w.http.Hang(true)
		},
		"a submodule that another archive waits for": func(w *world) {
			id := w.commit(map[string]string{"main.tf": "a"})
			_, err := w.repo.AddSubmodule("x", "../infra.git", id)
			w.must(err)
			w.fetch()
			w.http.Hang(true)
			beside, err := w.m.besideMirror(w.Context(), w.remote().URL)
			w.must(err)
			other := make(chan error, 1)
			seen := len(w.http.Requests())
			go func() { other <- beside.Fetch(context.Background(), w.remote(), FetchOptions{}) }()
			until(w.T, func() bool { return len(w.http.Requests()) > seen })
			w.Cleanup(func() {
				w.http.Hang(false)
				w.must(<-other)
			})
		},
		"where a file of LFS is": func(w *world) {
			w.commitLFS("content")
			w.fetch()
			w.http.Hang(true)
		},
		"the rest of a file of LFS": func(w *world) {
			w.commitLFS(strings.Repeat("content ", 1000))
			w.fetch()
			w.http.StallLFS(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Options{Submodules: true, LFS: true})
			w.T = t
			prepare(w)
			w.hurried()
		})
	}
}

func TestATokenThatAnotherWaitsForIsNotWaitedForLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{LFS: true})
	w.commitLFS("content")
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		rw.WriteHeader(http.StatusCreated)
		json.NewEncoder(rw).Encode(map[string]any{"token": "ghs_1", "expires_at": time.Now().Add(time.Hour)})
	}))
	defer api.Close()
	w.fetch()
	remote := w.remote()
	remote.Auth.GitHubApp = &GitHubApp{ID: 3, InstallationID: 7, PrivateKey: appKey(t), BaseURL: api.URL}
	w.m.origin = &remote
	other := make(chan error, 1)
	go func() { other <- w.m.Fetch(t.Context(), remote, FetchOptions{}) }()
	<-asked
	w.hurried()
	close(answer)
	w.must(<-other)
}

func TestAnAnswerThatEndsInTheMiddleIsTheServersFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{LFS: true})
	w.commitLFS(strings.Repeat("content ", 1000))
	w.fetch()
	w.http.StallLFS(true)
	errs := make(chan error, 1)
	tree, all := w.all()
	go func() { errs <- w.m.Archive(t.Context(), tree, all, io.Discard) }()
	until(t, func() bool { return len(w.files()) > 0 })
	w.http.CutOff()
	fails(t, <-errs, ErrUnreachable, "ends in the middle")
	if left := w.files(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// files of LFS that are there, or on their way.
func (w *world) files() []string {
	w.Helper()
	return files(w.T, w.m.path(lfsObjects))
}
