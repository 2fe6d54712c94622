package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

func (w *world) commitLFS(content string) {
	w.Helper()
	w.commit(map[string]string{"a.tf": "a", "image.bin": w.http.PutLFS(content), "again.bin": w.http.PutLFS(content)})
}

func TestAFileInLFSIsInTheArchiveWithItsContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{LFS: true})
	content := strings.Repeat("content ", 1000)
	w.commitLFS(content)
	w.http.RequireBasic("alice", canary)
	remote := w.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	w.must(w.m.Fetch(t.Context(), remote, FetchOptions{}))
	archive, err := w.archive("")
	w.must(err)
	want := map[string]string{"a.tf": "rw-r--r-- a", "image.bin": "rw-r--r-- " + content, "again.bin": "rw-r--r-- " + content}
	if diff := cmp.Diff(want, unpack(t, archive)); diff != "" {
		t.Error(diff)
	}
	seen := len(w.http.Requests())
	if _, err := w.archive(""); err != nil || len(w.http.Requests()) != seen {
		t.Errorf("the second archive asked again: %v", err)
	}
	w.m.forgetObjects(time.Now().Add(-time.Hour))
	if kept, _ := os.ReadDir(w.m.path(lfsObjects)); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
	w.m.forgetObjects(time.Now().Add(time.Hour))
	if kept, _ := os.ReadDir(w.m.path(lfsObjects)); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
}

func TestAnAnswerOfAnLFSServerHasALimitedNumberOfValues(t *testing.T) {
	t.Parallel()
	if objects, err := parseAnswer([]byte(`{"objects":[` + strings.Repeat(`{"oid":"a","size":1},`, mostBatch-1) + `{}]}`)); err != nil || len(objects) != mostBatch {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	_, err := parseAnswer([]byte(`{"objects":[` + strings.Repeat("{},", 1<<20) + `{}]}`))
	fails(t, err, ErrContent, "more than 20000 values for 100 files")
}

func TestWithoutTheOptionAPointerStaysAPointer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commitLFS("content")
	w.fetch()
	archive, err := w.archive("image.bin")
	w.must(err)
	if got := unpack(t, archive)["image.bin"]; !strings.Contains(got, "oid sha256:") {
		t.Errorf("got %s", got)
	}
}

func TestLFSGivesCredentialsToItsOwnServerOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{LFS: true})
	store := w.serve(false)
	w.commitLFS("content")
	w.http.ServeLFSFrom(store)
	w.http.RequireBasic("alice", canary)
	remote := w.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	w.must(w.m.Fetch(t.Context(), remote, FetchOptions{}))
	_, err := w.archive("")
	w.must(err)
	if n := len(store.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	for _, r := range store.Requests() {
		if r.Authorization != "" {
			t.Errorf("%s came with %q", r.Path, r.Authorization)
		}
	}
}

func TestAFileInLFSThatCannotBeHadSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(*world)
		kind    error
		says    string
	}{
		{"another content", func(w *world) { w.http.SpoilLFS("CONTENT") }, ErrContent, "content differs"},
		{"a longer content", func(w *world) { w.http.SpoilLFS("content, and more") }, ErrContent, "content differs"},
		{"never pushed", func(w *world) {
			w.commit(map[string]string{"image.bin": gitserver.Pointer(strings.Repeat("ab", 32), 7)})
			w.fetch()
		}, ErrContent, "git lfs push --all"},
		{"too large", func(w *world) {
			w.commit(map[string]string{"image.bin": gitserver.Pointer(strings.Repeat("ab", 32), 1<<40)})
			w.fetch()
		}, ErrTooLarge, "in LFS"},
		{"wrong credentials", func(w *world) { w.http.RequireBearer("x") }, ErrAuthentication, "credentials"},
		{"no LFS", func(w *world) { w.http.Answer(404) }, ErrNotFound, "no LFS"},
		{"a server that is not well", func(w *world) { w.http.Answer(500) }, ErrUnreachable, "500"},
		{"a server that is gone", func(w *world) { w.http.Close() }, ErrUnreachable, "cannot be reached"},
		{"a server elsewhere", func(w *world) { w.http.Redirect("http://127.0.0.1:1") }, ErrRedirect, "final URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Options{LFS: true})
			w.commitLFS("content")
			w.fetch()
			c.prepare(w)
			_, err := w.archive("")
			fails(t, err, c.kind, c.says)
			if left, _ := filepath.Glob(w.m.path(lfsObjects + "/tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
