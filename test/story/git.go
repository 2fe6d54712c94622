package story

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/gitserver"
)

// repositories is the key of a script's git servers.
type repositories struct{}

// servers are a script's git servers and its one repository, infra.
type servers struct {
	*gitserver.Repos
	repo *gitserver.Repo
	http *gitserver.HTTP
	ssh  *gitserver.SSH
}

// gitServer starts real git servers over HTTPS and SSH with an empty repository, infra:
//
//	git-server
//
// HTTP wants the user git with the password $GIT_PASSWORD. The script finds $GIT_URL, $GIT_HOST, $GIT_SSH_URL, and files in its
// folder: ca.crt, identity, known_hosts.
func (t Teller) gitServer(ts *testscript.TestScript, _ bool, _ []string) {
	work := ts.Getenv("WORK")
	s := &servers{Repos: &gitserver.Repos{Dir: filepath.Join(work, "repositories")}}
	var err error
	s.repo, err = s.Init("infra")
	ts.Check(err)
	s.http, err = gitserver.ServeHTTPAt(s.Repos, true, t.Host)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.http.Close()) })
	s.ssh, err = gitserver.ServeSSHAt(s.Repos, t.Host)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.ssh.Close()) })
	s.http.RequireBasic("git", "canary-of-git")
	ts.Setenv("GIT_PASSWORD", "canary-of-git")
	ts.Setenv("GIT_URL", s.http.URL+s.repo.Path())
	ts.Setenv("GIT_HOST", strings.TrimPrefix(s.http.URL, "https://"))
	ts.Setenv("GIT_SSH_URL", s.ssh.URL+s.repo.Path())
	for name, data := range map[string][]byte{"ca.crt": s.http.CA, "identity": s.ssh.Identity, "known_hosts": s.ssh.KnownHosts} {
		ts.Check(os.WriteFile(filepath.Join(work, name), data, 0o600))
	}
	ts.Value(repositories{}).(*scriptServers).servers = s
}

// scriptServers is what Setup puts into a script's environment, for git-server to fill.
type scriptServers struct{ *servers }

func serversOf(ts *testscript.TestScript) *servers {
	s := ts.Value(repositories{}).(*scriptServers).servers
	if s == nil {
		ts.Fatalf("git-server goes first")
	}
	return s
}

// push commits a folder of the script as the whole content of a branch of infra, and pushes it with the real git:
//
//	push [-f] FOLDER [BRANCH [MESSAGE]]
func (t Teller) push(ts *testscript.TestScript, _ bool, args []string) {
	force := len(args) > 0 && args[0] == "-f"
	if force {
		args = args[1:]
	}
	args = append(args, "", "", "")
	branch, message := orElse(args[1], "main"), orElse(args[2], "Change the code")
	s, clone := serversOf(ts), ts.MkAbs("clone-"+orElse(args[1], "main"))
	git := func(args ...string) {
		cmd := t.Command(ts, "git", append([]string{"-C", clone, "-c", "user.name=Alice", "-c", "user.email=alice@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if force {
		ts.Check(os.RemoveAll(clone))
	}
	if _, err := os.Stat(clone); err != nil {
		ts.Check(os.MkdirAll(clone, 0o755))
		git("init", "-q")
		git("checkout", "-q", "-b", branch)
	}
	entries, err := os.ReadDir(clone)
	ts.Check(err)
	for _, e := range entries {
		if e.Name() != ".git" {
			ts.Check(os.RemoveAll(filepath.Join(clone, e.Name())))
		}
	}
	ts.Check(os.CopyFS(clone, os.DirFS(ts.MkAbs(args[0]))))
	git("add", "-A")
	git("commit", "-q", "--allow-empty", "-m", message)
	git("push", "-q", "--force", s.repo.Dir, "HEAD:refs/heads/"+branch)
}

// gitAnswers makes the HTTPS server answer every request with a status, 0 to serve again: git-answers STATUS.
func (t Teller) gitAnswers(ts *testscript.TestScript, _ bool, args []string) {
	var status int
	_, err := fmt.Sscan(args[0], &status)
	ts.Check(err)
	serversOf(ts).http.Answer(status)
}

// hook tells Cairn of a push as GitHub does, signed with a secret, and fails unless the answer has the status:
//
//	hook REPOSITORY SECRET STATUS [DELIVERY]
func (t Teller) hook(ts *testscript.TestScript, _ bool, args []string) {
	delivery := "d-" + ts.Getenv("NAMESPACE")
	if len(args) > 3 {
		delivery = args[3]
	}
	url := orElse(ts.Getenv("HOOKS"), t.Hooks) + "/hooks/" + ts.Getenv("NAMESPACE") + "/" + args[0]
	status, text, err := gitserver.TellPush(context.Background(), url, args[1], delivery)
	ts.Check(err)
	ts.Logf("%d %s", status, text)
	if fmt.Sprint(status) != args[2] {
		ts.Fatalf("answered %d, not %s", status, args[2])
	}
}
