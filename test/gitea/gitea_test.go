//go:build gitea

package gitea

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A pull request of a user is there after the server was killed, with its comment and the status of its commit.
func TestPullRequestSurvivesKill(t *testing.T) {
	ctx := t.Context()
	s, err := New(ctx, "127.0.0.1", t.TempDir())
	must(t, err)
	t.Cleanup(func() { s.Kill() })
	root, err := s.User(ctx, Admin)
	must(t, err)
	alice, err := s.User(ctx, "alice")
	must(t, err)
	must(t, s.Call(ctx, root, "POST", "/user/repos", map[string]any{"name": "infra", "auto_init": true,
		"default_branch": "main"}, nil))
	must(t, s.Call(ctx, root, "PUT", "/repos/root/infra/collaborators/alice", map[string]any{"permission": "write"},
		nil))
	dir := t.TempDir()
	git(ctx, t, dir, "clone", "-q", s.CloneURL("alice", alice, "root/infra"), ".")
	git(ctx, t, dir, "switch", "-q", "-c", "change")
	must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# changed\n"), 0o600))
	git(ctx, t, dir, "add", ".")
	git(ctx, t, dir, "commit", "-qm", "change")
	git(ctx, t, dir, "push", "-q", "origin", "change")
	var pull struct {
		Number int
		Head   struct{ Sha string }
	}
	must(t, s.Call(ctx, alice, "POST", "/repos/root/infra/pulls", map[string]any{"head": "change", "base": "main",
		"title": "Change"}, &pull))
	must(t, s.Call(ctx, root, "POST", fmt.Sprintf("/repos/root/infra/issues/%d/comments", pull.Number),
		map[string]any{"body": "hello"}, nil))
	must(t, s.Call(ctx, root, "POST", "/repos/root/infra/statuses/"+pull.Head.Sha,
		map[string]any{"state": "pending", "context": "cairn"}, nil))
	s.Kill()
	if err := s.Call(ctx, root, "GET", "/version", nil, nil); err == nil {
		t.Fatal("a killed server responds")
	}
	must(t, s.Start(ctx))
	var comments []struct{ Body string }
	must(t, s.Call(ctx, alice, "GET", fmt.Sprintf("/repos/root/infra/issues/%d/comments", pull.Number), nil, &comments))
	var statuses []struct{ Status, Context string }
	must(t, s.Call(ctx, alice, "GET", "/repos/root/infra/commits/"+pull.Head.Sha+"/statuses", nil, &statuses))
	if len(comments) != 1 || comments[0].Body != "hello" || len(statuses) != 1 || statuses[0].Status != "pending" {
		t.Errorf("%+v, %+v", comments, statuses)
	}
	if head := git(ctx, t, dir, "ls-remote", "origin",
		fmt.Sprintf("refs/pull/%d/head", pull.Number)); !strings.HasPrefix(head, pull.Head.Sha) {
		t.Errorf("refs/pull/%d/head: %s", pull.Number, head)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func git(ctx context.Context, t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=alice",
		"GIT_AUTHOR_EMAIL=alice@example.com", "GIT_COMMITTER_NAME=alice", "GIT_COMMITTER_EMAIL=alice@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}
