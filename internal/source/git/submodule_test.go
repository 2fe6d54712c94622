package git

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

func TestArchiveHasTheFilesOfSubmodules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	inner, outer := f.init("inner"), f.init("outer")
	innerID, err := inner.Commit(gitserver.Change{Files: map[string]string{"inner.tf": "inner"}})
	f.must(err)
	_, err = outer.Commit(gitserver.Change{Files: map[string]string{"outer.tf": "outer"},
		Links: map[string]string{"up": "../../main.tf"}})
	f.must(err)
	outerID, err := outer.AddSubmodule("deep/inner", "../inner.git", innerID)
	f.must(err)
	// No branch has the commit any more.
	_, err = outer.Commit(gitserver.Change{Rewrite: true, Files: map[string]string{"outer.tf": "newer"}})
	f.must(err)
	f.commit(map[string]string{"main.tf": "main"})
	_, err = f.repo.AddSubmodule("modules/outer", f.http.URL+"/outer.git", outerID)
	f.must(err)
	f.http.RequireBasic("alice", canary)
	remote := f.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))

	first, err := f.archive("main.tf", "modules")
	f.must(err)
	want := map[string]string{
		"main.tf": "rw-r--r-- main", "modules/outer/outer.tf": "rw-r--r-- outer",
		"modules/outer/up": "-> ../../main.tf",
		"modules/outer/.gitmodules": "rw-r--r-- \n[submodule \"deep/inner\"]\n\tpath = deep/inner\n\turl = " +
			"../inner.git\n",
		"modules/outer/deep/inner/inner.tf": "rw-r--r-- inner",
	}
	if diff := cmp.Diff(want, unpack(t, first)); diff != "" {
		t.Error(diff)
	}
	seen := len(f.http.Requests())
	second, err := f.archive("main.tf", "modules")
	if err != nil || string(first) != string(second) || len(f.http.Requests()) != seen {
		t.Errorf("the second archive is another, or asked again: %v", err)
	}
}

// A mirror of a submodule that was not opened for long is removed, and fetched again on demand.
func TestUnusedSubmoduleMirrorIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	id, err := f.init("inner").Commit(gitserver.Change{Files: map[string]string{"inner.tf": "inner"}})
	f.must(err)
	_, err = f.repo.AddSubmodule("modules/inner", "../inner.git", id)
	f.must(err)
	f.must(f.m.Fetch(t.Context(), f.remote(), FetchOptions{}))
	kept := func() int {
		entries, err := os.ReadDir(f.m.path(modules))
		f.must(err)
		return len(entries)
	}
	later := time.Now().Add(time.Hour)
	first, err := f.archive("modules")
	f.must(err)
	if f.m.removeUnusedMirrors(later); kept() != 1 {
		t.Error("one that is open is gone")
	}
	again, err := Open(t.Context(), f.m.dir, f.m.o)
	f.must(err)
	f.must(f.m.Close())
	f.m = again
	t.Cleanup(func() { _ = again.Close() })
	if f.m.removeUnusedMirrors(time.Now().Add(-time.Hour)); kept() != 1 {
		t.Error("one of just now is gone")
	}
	if f.m.removeUnusedMirrors(later); kept() != 0 {
		t.Error("it is kept for ever")
	}
	f.must(f.m.Fetch(t.Context(), f.remote(), FetchOptions{}))
	if second, err := f.archive("modules"); err != nil || string(first) != string(second) {
		t.Errorf("it does not come again: %v", err)
	}
}

func TestSubmoduleOfAnotherServerGetsNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	other := f.serve(false) // the same host, another port
	modules := f.init("modules")
	id, err := modules.Commit(gitserver.Change{Files: map[string]string{"a.tf": "a"}})
	f.must(err)
	_, err = f.repo.AddSubmodule("modules", other.URL+"/modules.git", id)
	f.must(err)
	f.http.RequireBasic("alice", canary)
	remote := f.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
	_, err = f.archive("modules")
	f.must(err)
	for _, r := range other.Requests() {
		if r.Authorization != "" {
			t.Errorf("%s came with %q", r.Path, r.Authorization)
		}
	}
}

func TestErrorsOfSubmodulesNameTheRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		o      Options
		make   func(*fixture, *gitserver.Repo, string) error
		kind   error
		says   string
		reason string
	}{
		{"not turned on", Options{}, func(f *fixture, _ *gitserver.Repo, id string) error {
			_, err := f.repo.AddSubmodule("modules", "../modules.git", id)
			return err
		}, ErrContent, "modules is a submodule: set spec.submodules of the Repository to true", "ContentInvalid"},
		{"no .gitmodules", Options{Submodules: true}, func(f *fixture, _ *gitserver.Repo, id string) error {
			_, err := f.repo.Commit(gitserver.Change{Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, "no .gitmodules", "ConfigurationInvalid"},
		{"not in .gitmodules", Options{Submodules: true}, func(f *fixture, _ *gitserver.Repo, id string) error {
			_, err := f.repo.Commit(
				gitserver.Change{
					Files:      map[string]string{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n"},
					Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, ".gitmodules has no url", "ConfigurationInvalid"},
		{"a .gitmodules that is none", Options{Submodules: true}, func(f *fixture, _ *gitserver.Repo, id string) error {
			_, err := f.repo.Commit(gitserver.Change{Files: map[string]string{".gitmodules": "[submodule\n"},
				Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, ".gitmodules cannot be read", "ConfigurationInvalid"},
		{"a path of the machine", Options{Submodules: true}, func(f *fixture, m *gitserver.Repo, id string) error {
			_, err := f.repo.AddSubmodule("modules", m.Dir, id)
			return err
		}, ErrConfig, "the URL", "ConfigurationInvalid"},
		{"a commit that is not there", Options{Submodules: true}, func(f *fixture, _ *gitserver.Repo, _ string) error {
			_, err := f.repo.AddSubmodule("modules", "../modules.git", strings.Repeat("12", 20))
			return err
		}, ErrNoRef, "no such commit", "RefNotFound"},
		{"a repository that is not there", Options{Submodules: true},
			func(f *fixture, _ *gitserver.Repo, id string) error {
				_, err := f.repo.AddSubmodule("modules", "../gone.git", id)
				return err
			}, ErrNotFound, "no such repository", "RemoteNotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.o)
			modules := f.init("modules")
			id, err := modules.Commit(gitserver.Change{Files: map[string]string{"a.tf": "a"}})
			f.must(err)
			f.must(c.make(f, modules, id))
			f.fetch()
			_, err = f.archive("modules")
			fails(t, err, c.kind, c.says)
			if got := Reason(err); got != c.reason {
				t.Errorf("reason %s, want %s", got, c.reason)
			}
		})
	}
}

func TestRecursiveSubmoduleIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	id := f.commit(map[string]string{"a.tf": "a"})
	for range mostDepth + 2 {
		next, err := f.repo.Commit(gitserver.Change{
			Files:      map[string]string{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ../infra.git\n"},
			Submodules: map[string]string{"x": id},
		})
		f.must(err)
		id = next
	}
	f.fetch()
	_, err := f.archive("x")
	fails(t, err, ErrContent, "too deep")
}

func TestNoSubmoduleIsFetchedAnonymouslyAfterARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	id := f.commit(map[string]string{"a.tf": "a"})
	_, err := f.repo.AddSubmodule("x", "../infra.git", id)
	f.must(err)
	f.fetch()
	f.must(f.m.Close())
	f.m = mirror(t, f.m.dir, f.m.o)
	_, err = f.archive("x")
	if err == nil || !strings.Contains(err.Error(), "not fetched yet") || errors.Is(err, ErrContent) {
		t.Errorf("got %v", err)
	}
	f.fetch()
	_, err = f.archive("x")
	f.must(err)
}
