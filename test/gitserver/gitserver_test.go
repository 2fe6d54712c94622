package gitserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run git as a user would.
func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git",
		append([]string{"-c", "user.name=Bob", "-c", "user.email=bob@example.org"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(environment(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestUserClonesAndPushes(t *testing.T) {
	repos := New(t)
	repo, err := repos.Init("infra")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Commit(Change{Files: map[string]string{"main.tf": "a", "gone.tf": "b",
		"a \"name\"": "c"}}); err != nil {
		t.Fatal(err)
	}
	plain, err := ServeHTTP(repos, false)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	secure, err := ServeHTTP(repos, true)
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close()
	server, err := ServeSSH(repos)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	keys := t.TempDir()
	for name, data := range map[string][]byte{"ca.crt": secure.CA, "identity": server.Identity,
		"known_hosts": server.KnownHosts} {
		if err := os.WriteFile(filepath.Join(keys, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, env := range map[string][]string{
		plain.URL:  nil,
		secure.URL: {"GIT_SSL_CAINFO=" + keys + "/ca.crt"},
		server.URL: {"GIT_SSH_COMMAND=ssh -F /dev/null -o IdentityFile=" + keys + "/identity -o UserKnownHostsFile=" +
			keys + "/known_hosts"},
	} {
		dir := filepath.Join(t.TempDir(), "clone")
		run(t, "/", env, "clone", "--quiet", name+repo.Path(), dir)
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, dir, env, "commit", "--quiet", "--all", "--message", "Change")
		run(t, dir, env, "push", "--quiet", "origin", "main")
		if got, err := repo.Git("show", "main:main.tf"); err != nil || got != name {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestCommit(t *testing.T) {
	repo, err := New(t).Init("infra")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Change{
		{Files: map[string]string{"a": "1", "b": "2", "empty": Empty}, Programs: map[string]string{"run": "x"},
			Links: map[string]string{"link": "a"}},
		{Files: map[string]string{"b": ""}},
	} {
		if _, err := repo.Commit(c); err != nil {
			t.Fatal(err)
		}
	}
	listing, err := repo.Git("ls-tree", "--format=%(objectmode) %(path)", "main")
	if want := "100644 a\n100644 empty\n120000 link\n100755 run"; err != nil || listing != want {
		t.Errorf("got %s, %v", listing, err)
	}
	if _, err := repo.Commit(Change{Rewrite: true, Files: map[string]string{"c": "3"}}); err != nil {
		t.Fatal(err)
	}
	if count, err := repo.Git("rev-list", "--count", "main"); err != nil || count != "1" {
		t.Errorf("%s commits, %v", count, err)
	}
}
