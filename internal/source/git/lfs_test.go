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

func (f *fixture) commitLFS(content string) {
	f.Helper()
	f.commit(map[string]string{"a.tf": "a", "image.bin": f.http.PutLFS(content), "again.bin": f.http.PutLFS(content)})
}

func TestArchiveHasTheContentOfLFSFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{LFS: true})
	content := strings.Repeat("content ", 1000)
	f.commitLFS(content)
	f.http.RequireBasic("alice", canary)
	remote := f.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
	archive, err := f.archive("")
	f.must(err)
	want := map[string]string{"a.tf": "rw-r--r-- a", "image.bin": "rw-r--r-- " + content, "again.bin": "rw-r--r-- " +
		content}
	if diff := cmp.Diff(want, unpack(t, archive)); diff != "" {
		t.Error(diff)
	}
	seen := len(f.http.Requests())
	if _, err := f.archive(""); err != nil || len(f.http.Requests()) != seen {
		t.Errorf("the second archive asked again: %v", err)
	}
	f.m.removeUnusedObjects(time.Now().Add(-time.Hour))
	if kept, _ := os.ReadDir(f.m.path(lfsObjects)); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
	f.m.removeUnusedObjects(time.Now().Add(time.Hour))
	if kept, _ := os.ReadDir(f.m.path(lfsObjects)); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
}

func TestNumberOfValuesOfAnLFSResponseIsLimited(t *testing.T) {
	t.Parallel()
	if objects, err := parseAnswer([]byte(`{"objects":[` + strings.Repeat(`{"oid":"a","size":1},`, mostBatch-1) +
		`{}]}`)); err != nil || len(objects) != mostBatch {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	_, err := parseAnswer([]byte(`{"objects":[` + strings.Repeat("{},", 1<<20) + `{}]}`))
	fails(t, err, ErrContent, "more than 20000 values for 100 files")
}

func TestLFSPointerIsKeptWhenLFSIsDisabled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commitLFS("content")
	f.fetch()
	archive, err := f.archive("image.bin")
	f.must(err)
	if got := unpack(t, archive)["image.bin"]; !strings.Contains(got, "oid sha256:") {
		t.Errorf("got %s", got)
	}
}

func TestLFSCredentialsAreSentToTheSameServerOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{LFS: true})
	store := f.serve(false)
	f.commitLFS("content")
	f.http.ServeLFSFrom(store)
	f.http.RequireBasic("alice", canary)
	remote := f.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
	_, err := f.archive("")
	f.must(err)
	if n := len(store.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	for _, r := range store.Requests() {
		if r.Authorization != "" {
			t.Errorf("%s came with %q", r.Path, r.Authorization)
		}
	}
}

func TestErrorsOfLFSFilesNameTheRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(*fixture)
		kind    error
		says    string
	}{
		{"another content", func(f *fixture) { f.http.SpoilLFS("CONTENT") }, ErrContent, "content differs"},
		{"a longer content", func(f *fixture) { f.http.SpoilLFS("content, and more") }, ErrContent, "content differs"},
		{"never pushed", func(f *fixture) {
			f.commit(map[string]string{"image.bin": gitserver.Pointer(strings.Repeat("ab", 32), 7)})
			f.fetch()
		}, ErrContent, "git lfs push --all"},
		{"too large", func(f *fixture) {
			f.commit(map[string]string{"image.bin": gitserver.Pointer(strings.Repeat("ab", 32), 1<<40)})
			f.fetch()
		}, ErrTooLarge, "in LFS"},
		{"wrong credentials", func(f *fixture) { f.http.RequireBearer("x") }, ErrAuthentication, "credentials"},
		{"no LFS", func(f *fixture) { f.http.Answer(404) }, ErrNotFound, "no LFS"},
		{"a server that is not well", func(f *fixture) { f.http.Answer(500) }, ErrUnreachable, "500"},
		{"a server that is gone", func(f *fixture) { f.http.Close() }, ErrUnreachable, "cannot be reached"},
		{"a server elsewhere", func(f *fixture) { f.http.Redirect("http://127.0.0.1:1") }, ErrRedirect, "final URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Options{LFS: true})
			f.commitLFS("content")
			f.fetch()
			c.prepare(f)
			_, err := f.archive("")
			fails(t, err, c.kind, c.says)
			if left, _ := filepath.Glob(f.m.path(lfsObjects + "/tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
