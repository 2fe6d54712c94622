package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/egress/egresstest"
	"cairn.dev/cairn/test/gitserver"
)

// world is a repository, the server it is on, and a mirror that is still empty.
type world struct {
	*testing.T
	repos *gitserver.Repos
	repo  *gitserver.Repo
	http  *gitserver.HTTP
	m     *Mirror
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{T: t, repos: gitserver.New(t)}
	w.repo = w.init("infra")
	w.http = w.serve(false)
	w.m = mirror(t, t.TempDir(), o)
	return w
}

func (w *world) init(name string) *gitserver.Repo {
	w.Helper()
	repo, err := w.repos.Init(name)
	if err != nil {
		w.Fatal(err)
	}
	return repo
}

func (w *world) serve(tls bool) *gitserver.HTTP {
	w.Helper()
	s, err := gitserver.ServeHTTP(w.repos, tls)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func mirror(t testing.TB, dir string, o Options) *Mirror {
	t.Helper()
	if o.Egress == nil {
		o.Egress = egresstest.Loopback()
	}
	m, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		if left := processes(dir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return m
}

// processes that run in a folder.
func processes(dir string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			found = append(found, link)
		}
	}
	return found
}

// commit files to main.
func (w *world) commit(files map[string]string) string {
	w.Helper()
	return w.change(gitserver.Change{Files: files})
}

func (w *world) change(c gitserver.Change) string {
	w.Helper()
	id, err := w.repo.Commit(c)
	w.must(err)
	return id
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) remote() Remote { return Remote{URL: w.http.URL + w.repo.Path()} }

func (w *world) fetch() {
	w.Helper()
	w.must(w.m.Fetch(w.Context(), w.remote(), FetchOptions{}))
}

// at wants a ref to be a commit; "" that there is none.
func (w *world) at(ref, id string) Commit {
	w.Helper()
	c, err := w.m.Resolve(w.Context(), ref)
	switch {
	case id == "" && !errors.Is(err, ErrNoRef):
		w.Errorf("%s is %v, %v; there should be none", ref, c, err)
	case id != "" && (err != nil || c.ID != id):
		w.Errorf("%s is %s, %v; want %s", ref, c.ID, err, id)
	}
	return c
}

// fails wants an error of a kind that says something.
func fails(t testing.TB, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v (%s), want %v that says %q", err, Reason(err), kind, says)
	}
}
