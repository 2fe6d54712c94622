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
// HTTP requires user git with password $GIT_PASSWORD. It sets $GIT_URL, $GIT_HOST and $GIT_SSH_URL, and writes the
// files ca.crt, identity and known_hosts to the script's folder.
func (e Environment) gitServer(ts *testscript.TestScript, _ bool, _ []string) {
	work := ts.Getenv("WORK")
	s := &servers{Repos: &gitserver.Repos{Dir: filepath.Join(work, "repositories")}}
	var err error
	s.repo, err = s.Init("infra")
	ts.Check(err)
	s.http, err = gitserver.ServeHTTPAt(s.Repos, true, e.Host)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.http.Close()) })
	s.ssh, err = gitserver.ServeSSHAt(s.Repos, e.Host)
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.ssh.Close()) })
	s.http.RequireBasic("git", "canary-of-git")
	ts.Setenv("GIT_PASSWORD", "canary-of-git")
	ts.Setenv("GIT_URL", s.http.URL+s.repo.Path())
	ts.Setenv("GIT_HOST", strings.TrimPrefix(s.http.URL, "https://"))
	ts.Setenv("GIT_SSH_URL", s.ssh.URL+s.repo.Path())
	for name, data := range map[string][]byte{"ca.crt": s.http.CA, "identity": s.ssh.Identity,
		"known_hosts": s.ssh.KnownHosts} {
		ts.Check(os.WriteFile(filepath.Join(work, name), data, 0o600))
	}
	ts.Value(repositories{}).(*scriptServers).servers = s
}

// scriptServers is a value in a script's environment that git-server fills.
type scriptServers struct{ *servers }

func serversOf(ts *testscript.TestScript) *servers {
	s := ts.Value(repositories{}).(*scriptServers).servers
	if s == nil {
		ts.Fatalf("the script has no git-server")
	}
	return s
}

// push commits a folder of the script as the whole content of a branch of infra, and pushes it with the real git:
//
//	push [-f] FOLDER [BRANCH [MESSAGE]]
func (e Environment) push(ts *testscript.TestScript, _ bool, args []string) {
	force := len(args) > 0 && args[0] == "-f"
	if force {
		args = args[1:]
	}
	args = append(args, "", "", "")
	branch, message := orElse(args[1], "main"), orElse(args[2], "Change the code")
	s, clone := serversOf(ts), ts.MkAbs("clone-"+orElse(args[1], "main"))
	git := func(args ...string) {
		cmd := e.Command(ts, "git",
			append([]string{"-C", clone, "-c", "user.name=Alice", "-c", "user.email=alice@example.org", "-c",
				"init.defaultBranch=main"}, args...)...)
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
	for _, entry := range entries {
		if entry.Name() != ".git" {
			ts.Check(os.RemoveAll(filepath.Join(clone, entry.Name())))
		}
	}
	ts.Check(os.CopyFS(clone, os.DirFS(ts.MkAbs(args[0]))))
	git("add", "-A")
	git("commit", "-q", "--allow-empty", "-m", message)
	git("push", "-q", "--force", s.repo.Dir, "HEAD:refs/heads/"+branch)
}

// gitRespond sets the status of every response of the HTTPS server, 0 for normal operation: git-respond STATUS.
func (e Environment) gitRespond(ts *testscript.TestScript, _ bool, args []string) {
	var status int
	_, err := fmt.Sscan(args[0], &status)
	ts.Check(err)
	serversOf(ts).http.Answer(status)
}

// webhook sends a push event as GitHub does, signed with a secret, and fails unless the response has the status:
//
//	webhook REPOSITORY SECRET STATUS [DELIVERY]
func (e Environment) webhook(ts *testscript.TestScript, _ bool, args []string) {
	delivery := "d-" + ts.Getenv("NAMESPACE")
	if len(args) > 3 {
		delivery = args[3]
	}
	url := orElse(ts.Getenv("HOOKS"), e.Hooks) + "/hooks/" + ts.Getenv("NAMESPACE") + "/" + args[0]
	status, text, err := gitserver.SendPush(context.Background(), url, args[1], delivery)
	ts.Check(err)
	ts.Logf("%d %s", status, text)
	if fmt.Sprint(status) != args[2] {
		ts.Fatalf("the response has status %d, not %s", status, args[2])
	}
}
