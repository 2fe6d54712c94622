package git

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

// The image that Cairn comes in has no shell, so git must not want one. It says itself what it starts, and how.
func TestGitStartsNoShell(t *testing.T) {
	traces := traceGit(t)
	f := newFixture(t, Options{Submodules: true})
	f.commit(map[string]string{"main.tf": "a"})
	ssh := f.ssh()
	module := f.init("module")
	commit, err := module.Commit(gitserver.Change{Files: map[string]string{"vpc.tf": "b"}})
	f.must(err)
	_, err = f.repo.AddSubmodule("modules/vpc", "../module.git", commit)
	f.must(err)
	auth := Auth{Identity: ssh.Identity, KnownHosts: ssh.KnownHosts}
	f.http.RequireBearer(canary)
	for _, remote := range []Remote{{ssh.URL + f.repo.Path(), auth},
		{f.http.URL + f.repo.Path(), Auth{BearerToken: canary}}} {
		f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
		head, err := f.m.Resolve(t.Context(), "main")
		f.must(err)
		tree, err := f.m.Tree(t.Context(), head.ID)
		f.must(err)
		f.must(f.m.Archive(t.Context(), tree, []Entry{{Kind: KindDir}}, new(bytes.Buffer)))
	}
	f.http.RequireBearer("another") // where git would ask a helper, or the user
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{}), ErrAuthentication, "")
	f.m.suspect.Store(true) // have all of it read
	f.must(f.m.Fetch(t.Context(), Remote{ssh.URL + f.repo.Path(), auth}, FetchOptions{}))
	_, err = f.m.run(t.Context(), command{args: []string{"gc", "--quiet"}}) // what maintain does when there is enough
	f.must(err)
	f.must(f.m.Close())

	seen := map[string]bool{}
	for _, child := range children(t, traces) {
		if child.UseShell {
			t.Errorf("git uses a shell for %q", child.Argv)
		}
		seen[child.Class], seen[strings.Join(child.Argv[:min(2, len(child.Argv))], " ")] = true, true
	}
	for _, want := range []string{"transport/ssh", "remote-http", "git index-pack", "git repack"} {
		if !seen[want] {
			t.Errorf("the traces do not have %s, so they are not all that git starts: %v", want, seen)
		}
	}
}

// traceGit puts another git before the real one, which has it write what it starts into the folder that is returned.
func traceGit(t *testing.T) string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir, traces := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nGIT_TRACE2_EVENT=" + traces + " exec " + real + ` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return traces
}

// child is what git says of a program that it starts.
type child struct {
	Event    string   `json:"event"`
	Class    string   `json:"child_class"`
	UseShell bool     `json:"use_shell"`
	Argv     []string `json:"argv"`
}

func children(t *testing.T, traces string) (found []child) {
	t.Helper()
	for _, name := range files(t, traces) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c child
			if json.Unmarshal(lines.Bytes(), &c) == nil && c.Event == "child_start" {
				found = append(found, c)
			}
		}
	}
	return found
}

func TestSSHPathMustBeSafeForGit(t *testing.T) {
	m := mirror(t, t.TempDir(), Options{})
	remote := Remote{URL: "ssh://git@example.org/x"}
	dir := filepath.Join(t.TempDir(), "with spaces")
	t.Setenv("PATH", dir)
	if _, err := m.open(t.Context(), remote); !errors.Is(err, exec.ErrNotFound) ||
		!strings.Contains(err.Error(), "no ssh on this machine") {
		t.Errorf("no ssh: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ssh"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := m.open(t.Context(), remote); err == nil || !strings.Contains(err.Error(), "without spaces") {
		t.Errorf("spaces: %v", err)
	}
	if left, _ := os.ReadDir(m.path(sessions)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
