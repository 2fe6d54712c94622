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

func TestASubmodulesFilesAreInTheArchive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	inner, outer := w.init("inner"), w.init("outer")
	innerID, err := inner.Commit(gitserver.Change{Files: map[string]string{"inner.tf": "inner"}})
	w.must(err)
	_, err = outer.Commit(gitserver.Change{Files: map[string]string{"outer.tf": "outer"}, Links: map[string]string{"up": "../../main.tf"}})
	w.must(err)
	outerID, err := outer.AddSubmodule("deep/inner", "../inner.git", innerID)
	w.must(err)
	// Nobody's branch has the commit any more.
	_, err = outer.Commit(gitserver.Change{Rewrite: true, Files: map[string]string{"outer.tf": "newer"}})
	w.must(err)
	w.commit(map[string]string{"main.tf": "main"})
	_, err = w.repo.AddSubmodule("modules/outer", w.http.URL+"/outer.git", outerID)
	w.must(err)
	w.http.RequireBasic("alice", canary)
	remote := w.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	w.must(w.m.Fetch(t.Context(), remote, FetchOptions{}))

	first, err := w.archive("main.tf", "modules")
	w.must(err)
	want := map[string]string{
		"main.tf": "rw-r--r-- main", "modules/outer/outer.tf": "rw-r--r-- outer", "modules/outer/up": "-> ../../main.tf",
		"modules/outer/.gitmodules":         "rw-r--r-- \n[submodule \"deep/inner\"]\n\tpath = deep/inner\n\turl = ../inner.git\n",
		"modules/outer/deep/inner/inner.tf": "rw-r--r-- inner",
	}
	if diff := cmp.Diff(want, unpack(t, first)); diff != "" {
		t.Error(diff)
	}
	seen := len(w.http.Requests())
	second, err := w.archive("main.tf", "modules")
	if err != nil || string(first) != string(second) || len(w.http.Requests()) != seen {
		t.Errorf("the second archive is another, or asked again: %v", err)
	}
}

// A mirror of a submodule that nobody opened for long goes, and comes again when it is wanted.
func TestASubmoduleThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	id, err := w.init("inner").Commit(gitserver.Change{Files: map[string]string{"inner.tf": "inner"}})
	w.must(err)
	_, err = w.repo.AddSubmodule("modules/inner", "../inner.git", id)
	w.must(err)
	w.must(w.m.Fetch(t.Context(), w.remote(), FetchOptions{}))
	kept := func() int {
		entries, err := os.ReadDir(w.m.path(modules))
		w.must(err)
		return len(entries)
	}
	later := time.Now().Add(time.Hour)
	first, err := w.archive("modules")
	w.must(err)
	if w.m.forgetBeside(later); kept() != 1 {
		t.Error("one that is open is gone")
	}
	again, err := Open(t.Context(), w.m.dir, w.m.o)
	w.must(err)
	w.must(w.m.Close())
	w.m = again
	t.Cleanup(func() { _ = again.Close() })
	if w.m.forgetBeside(time.Now().Add(-time.Hour)); kept() != 1 {
		t.Error("one of just now is gone")
	}
	if w.m.forgetBeside(later); kept() != 0 {
		t.Error("it is kept for ever")
	}
	w.must(w.m.Fetch(t.Context(), w.remote(), FetchOptions{}))
	if second, err := w.archive("modules"); err != nil || string(first) != string(second) {
		t.Errorf("it does not come again: %v", err)
	}
}

func TestASubmoduleOfAnotherServerGetsNoCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	other := w.serve(false) // the same host, another port
	modules := w.init("modules")
	id, err := modules.Commit(gitserver.Change{Files: map[string]string{"a.tf": "a"}})
	w.must(err)
	_, err = w.repo.AddSubmodule("modules", other.URL+"/modules.git", id)
	w.must(err)
	w.http.RequireBasic("alice", canary)
	remote := w.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	w.must(w.m.Fetch(t.Context(), remote, FetchOptions{}))
	_, err = w.archive("modules")
	w.must(err)
	for _, r := range other.Requests() {
		if r.Authorization != "" {
			t.Errorf("%s came with %q", r.Path, r.Authorization)
		}
	}
}

func TestASubmoduleThatCannotBeHadSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		o      Options
		make   func(*world, *gitserver.Repo, string) error
		kind   error
		says   string
		reason string
	}{
		{"not turned on", Options{}, func(w *world, _ *gitserver.Repo, id string) error {
			_, err := w.repo.AddSubmodule("modules", "../modules.git", id)
			return err
		}, ErrContent, "modules is a submodule: set spec.submodules of the Repository to true", "ContentInvalid"},
		{"no .gitmodules", Options{Submodules: true}, func(w *world, _ *gitserver.Repo, id string) error {
			_, err := w.repo.Commit(gitserver.Change{Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, "no .gitmodules", "ConfigurationInvalid"},
		{"not in .gitmodules", Options{Submodules: true}, func(w *world, _ *gitserver.Repo, id string) error {
			_, err := w.repo.Commit(gitserver.Change{Files: map[string]string{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n"}, Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, ".gitmodules has no url", "ConfigurationInvalid"},
		{"a .gitmodules that is none", Options{Submodules: true}, func(w *world, _ *gitserver.Repo, id string) error {
			_, err := w.repo.Commit(gitserver.Change{Files: map[string]string{".gitmodules": "[submodule\n"}, Submodules: map[string]string{"modules": id}})
			return err
		}, ErrConfig, ".gitmodules cannot be read", "ConfigurationInvalid"},
		{"a path of the machine", Options{Submodules: true}, func(w *world, m *gitserver.Repo, id string) error {
			_, err := w.repo.AddSubmodule("modules", m.Dir, id)
			return err
		}, ErrConfig, "the URL", "ConfigurationInvalid"},
		{"a commit that is not there", Options{Submodules: true}, func(w *world, _ *gitserver.Repo, _ string) error {
			_, err := w.repo.AddSubmodule("modules", "../modules.git", strings.Repeat("12", 20))
			return err
		}, ErrNoRef, "no such commit", "RefNotFound"},
		{"a repository that is not there", Options{Submodules: true}, func(w *world, _ *gitserver.Repo, id string) error {
			_, err := w.repo.AddSubmodule("modules", "../gone.git", id)
			return err
		}, ErrNotFound, "no such repository", "RemoteNotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.o)
			modules := w.init("modules")
			id, err := modules.Commit(gitserver.Change{Files: map[string]string{"a.tf": "a"}})
			w.must(err)
			w.must(c.make(w, modules, id))
			w.fetch()
			_, err = w.archive("modules")
			fails(t, err, c.kind, c.says)
			if got := Reason(err); got != c.reason {
				t.Errorf("reason %s, want %s", got, c.reason)
			}
		})
	}
}

func TestASubmoduleThatHasItselfEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	id := w.commit(map[string]string{"a.tf": "a"})
	for range mostDepth + 2 {
		next, err := w.repo.Commit(gitserver.Change{
			Files:      map[string]string{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ../infra.git\n"},
			Submodules: map[string]string{"x": id},
		})
		w.must(err)
		id = next
	}
	w.fetch()
	_, err := w.archive("x")
	fails(t, err, ErrContent, "too deep")
}

func TestAfterARestartNothingIsFetchedAsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	id := w.commit(map[string]string{"a.tf": "a"})
	_, err := w.repo.AddSubmodule("x", "../infra.git", id)
	w.must(err)
	w.fetch()
	w.must(w.m.Close())
	w.m = mirror(t, w.m.dir, w.m.o)
	_, err = w.archive("x")
	if err == nil || !strings.Contains(err.Error(), "not fetched yet") || errors.Is(err, ErrContent) {
		t.Errorf("got %v", err)
	}
	w.fetch()
	_, err = w.archive("x")
	w.must(err)
}
