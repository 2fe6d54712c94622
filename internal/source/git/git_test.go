package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/test/gitserver"
)

// fixture is a repository, its server, and a mirror that is still empty.
type fixture struct {
	*testing.T
	repos *gitserver.Repos
	repo  *gitserver.Repo
	http  *gitserver.HTTP
	m     *Mirror
}

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{T: t, repos: gitserver.New(t)}
	f.repo = f.init("infra")
	f.http = f.serve(false)
	f.m = mirror(t, t.TempDir(), o)
	return f
}

func (f *fixture) init(name string) *gitserver.Repo {
	f.Helper()
	repo, err := f.repos.Init(name)
	if err != nil {
		f.Fatal(err)
	}
	return repo
}

func (f *fixture) serve(tls bool) *gitserver.HTTP {
	f.Helper()
	s, err := gitserver.ServeHTTP(f.repos, tls)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
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
func (f *fixture) commit(files map[string]string) string {
	f.Helper()
	return f.change(gitserver.Change{Files: files})
}

func (f *fixture) change(c gitserver.Change) string {
	f.Helper()
	id, err := f.repo.Commit(c)
	f.must(err)
	return id
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) remote() Remote { return Remote{URL: f.http.URL + f.repo.Path()} }

func (f *fixture) fetch() {
	f.Helper()
	f.must(f.m.Fetch(f.Context(), f.remote(), FetchOptions{}))
}

// at wants a ref to be a commit; "" that there is none.
func (f *fixture) at(ref, id string) Commit {
	f.Helper()
	c, err := f.m.Resolve(f.Context(), ref)
	switch {
	case id == "" && !errors.Is(err, ErrNoRef):
		f.Errorf("%s is %v, %v; there should be none", ref, c, err)
	case id != "" && (err != nil || c.ID != id):
		f.Errorf("%s is %s, %v; want %s", ref, c.ID, err, id)
	}
	return c
}

// fails wants an error of a kind, with a text in its message.
func fails(t testing.TB, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v (%s), want %v that says %q", err, Reason(err), kind, says)
	}
}
