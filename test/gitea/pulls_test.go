//go:build gitea

package gitea

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// The life of a pull request through the client of a controller.
func TestClientOfPullRequests(t *testing.T) {
	ctx := t.Context()
	s, err := New(ctx, "127.0.0.1", t.TempDir())
	must(t, err)
	t.Cleanup(func() { s.Kill() })
	root, err := s.User(ctx, Admin)
	must(t, err)
	tokens := map[string]string{}
	for _, login := range []string{"alice", "bob", "cairn"} {
		tokens[login], err = s.User(ctx, login)
		must(t, err)
	}
	must(t, s.Call(ctx, root, "POST", "/orgs", map[string]any{"username": "acme"}, nil))
	must(t, s.Call(ctx, root, "POST", "/orgs/acme/repos", map[string]any{"name": "infra", "auto_init": true,
		"default_branch": "main"}, nil))
	for login, permission := range map[string]string{"alice": "write", "bob": "write", "cairn": "admin"} {
		must(t, s.Call(ctx, root, "PUT", "/repos/acme/infra/collaborators/"+login,
			map[string]any{"permission": permission}, nil))
	}
	var team struct{ ID int64 }
	must(t, s.Call(ctx, root, "POST", "/orgs/acme/teams", map[string]any{"name": "ops", "permission": "read",
		"units": []string{"repo.code"}}, &team))
	must(t, s.Call(ctx, root, "PUT", "/teams/"+itoa(team.ID)+"/members/bob", nil, nil))
	// Gitea shows the teams of an organization to its members.
	must(t, s.Call(ctx, root, "PUT", "/teams/"+itoa(team.ID)+"/members/cairn", nil, nil))
	client := pulls.NewGitea(pulls.GiteaOptions{URL: s.URL, Owner: "acme", Name: "infra", Token: tokens["cairn"],
		Web: http.DefaultClient})

	open, version, err := client.Open(ctx, "")
	if err != nil || len(open) != 0 {
		t.Fatal(open, err)
	}
	if _, _, err := client.Open(ctx, version); !errors.Is(err, pulls.ErrUnchanged) {
		t.Fatal(err)
	}

	dir := t.TempDir()
	git(ctx, t, dir, "clone", "-q", s.CloneURL("alice", tokens["alice"], "acme/infra"), ".")
	push := func(text string) string {
		must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600))
		git(ctx, t, dir, "add", ".")
		git(ctx, t, dir, "commit", "-qm", text)
		git(ctx, t, dir, "push", "-q", "origin", "change")
		return strings.TrimSpace(git(ctx, t, dir, "rev-parse", "HEAD"))
	}
	git(ctx, t, dir, "switch", "-q", "-c", "change")
	head := push("# one\n")
	must(t, s.Call(ctx, tokens["alice"], "POST", "/repos/acme/infra/pulls",
		map[string]any{"head": "change", "base": "main", "title": "Change"}, nil))
	open, version, err = client.Open(ctx, version)
	must(t, err)
	if len(open) != 1 || open[0].Author != "alice" || open[0].Head != (pulls.Ref{Branch: "change", Commit: head}) ||
		open[0].Fork || open[0].State != pulls.Open || open[0].Draft {
		t.Fatalf("%+v", open)
	}
	number := open[0].Number
	if _, _, err := client.Open(ctx, version); !errors.Is(err, pulls.ErrUnchanged) {
		t.Errorf("an unchanged list: %v", err)
	}
	head = push("# two\n")
	eventually(t, "the list has the new head", func() bool {
		open, _, err = client.Open(ctx, version)
		return err == nil && open[0].Head.Commit == head
	})

	ours := func(body string) bool { return strings.HasPrefix(body, "<!-- cairn -->") }
	first, err := client.Upsert(ctx, number, 0, ours, "<!-- cairn -->\none")
	must(t, err)
	time.Sleep(2 * time.Second) // Gitea has seconds
	again, err := client.Upsert(ctx, number, 0, ours, "<!-- cairn -->\ntwo")
	must(t, err)
	if age := time.Since(again.At); first.At.IsZero() || !again.At.After(first.At) || age > 30*time.Second ||
		age < -2*time.Second {
		t.Errorf("written at %s, and again at %s", first.At, again.At)
	}
	comments, err := client.Comments(ctx, number, time.Time{})
	if err != nil || len(comments) != 1 || again.ID != first.ID || comments[0].Author != "cairn" ||
		!strings.HasSuffix(comments[0].Body, "two") {
		t.Errorf("%+v, %v", comments, err)
	}
	must(t, client.React(ctx, number, first.ID, pulls.Accepted))
	must(t, client.React(ctx, number, first.ID, pulls.Accepted))
	for _, state := range []pulls.StatusState{pulls.Pending, pulls.Failure, pulls.Success} {
		must(t, client.SetStatus(ctx, head, pulls.Status{Context: "cairn", State: state, Description: "3 Stacks",
			URL: "https://cairn.example.com"}))
	}
	var combined struct{ State string }
	must(t, s.Call(ctx, root, "GET", "/repos/acme/infra/commits/"+head+"/status", nil, &combined))
	if combined.State != "success" {
		t.Errorf("the status of the commit is %s", combined.State)
	}

	// The newest verdict of a user counts, of the head that it was about.
	time.Sleep(2 * time.Second)
	reviews := "/repos/acme/infra/pulls/" + itoa(int64(number)) + "/reviews"
	reviewed := func(want string) {
		t.Helper()
		got, err := client.Reviews(ctx, number)
		text := ""
		for _, r := range got {
			text += r.Author + " " + r.Commit
			if !r.At.After(again.At) {
				t.Errorf("a review at %s, after a comment at %s", r.At, again.At)
			}
		}
		if err != nil || text != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	reviewed("")
	var review struct{ ID int64 }
	for _, step := range []struct{ event, want string }{{"COMMENT", ""}, {"APPROVED", "bob " + head},
		{"REQUEST_CHANGES", ""}, {"APPROVED", "bob " + head}} {
		must(t, s.Call(ctx, tokens["bob"], "POST", reviews, map[string]any{"event": step.event, "body": "read"},
			&review))
		reviewed(step.want)
	}
	must(t, s.Call(ctx, root, "POST", reviews+"/"+itoa(review.ID)+"/dismissals", map[string]any{"message": "no"}, nil))
	reviewed("")

	must(t, s.Call(ctx, root, "POST", "/repos/acme/infra/branch_protections", map[string]any{
		"rule_name": "main", "required_approvals": 1, "enable_status_check": true,
		"status_check_contexts": []string{"cairn*", "test/*"},
	}, nil))
	ready := func(want string) {
		t.Helper()
		isOwn := func(context string) bool { return context == "cairn" || strings.HasPrefix(context, "cairn/") }
		var got string
		eventually(t, want, func() bool { // it is checked whether there are conflicts
			r, err := client.Readiness(ctx, pulls.Merge{Number: number, Head: head, Base: "main"}, isOwn)
			got = strings.Join([]string{string(r.Merge), string(r.Review), strings.Join(r.Blockers, ", ")}, " ")
			return err == nil && r.Head == head && len(r.Base) == 40 && r.Merge != pulls.MergeUnknown
		})
		if strings.TrimSpace(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	status := func(context string, state pulls.StatusState) {
		t.Helper()
		must(t, client.SetStatus(ctx, head, pulls.Status{Context: context, State: state}))
	}
	ready("Blocked Required the required status test/* is missing, the branch requires 1 approvals")
	must(t, s.Call(ctx, tokens["bob"], "POST", reviews, map[string]any{"event": "APPROVED", "body": "read"}, nil))
	status("test/unit", pulls.Success)
	status("cairn/apply", pulls.Pending)
	ready("Allowed Sufficient")
	status("test/unit", pulls.Failure)
	ready("Blocked Sufficient the required status test/unit is no success")
	must(t, s.Call(ctx, tokens["bob"], "POST", reviews, map[string]any{"event": "REQUEST_CHANGES", "body": "read"},
		nil))
	status("test/unit", pulls.Success)
	ready("Blocked ChangesRequested a review requests changes")

	for login, want := range map[string]string{"bob": "acme/ops", "alice": ""} {
		if got, err := client.Teams(ctx, login); err != nil || strings.Join(got, " ") != want {
			t.Errorf("the teams of %s are %q, %v", login, got, err)
		}
	}

	must(t, s.Call(ctx, tokens["alice"], "PATCH", "/repos/acme/infra/pulls/"+itoa(int64(number)),
		map[string]any{"state": "closed"}, nil))
	closed, err := client.Get(ctx, number)
	if err != nil || closed.State != pulls.Closed {
		t.Errorf("%+v, %v", closed, err)
	}

	of := pulls.Merge{Number: number, Head: head, Base: "main"}
	rejected := func(what string, of pulls.Merge, want pulls.Kind) {
		t.Helper()
		if err := client.Merge(ctx, of, pulls.MethodSquash); pulls.KindOf(err) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := pulls.MergeHead(ctx, client, of, pulls.MethodSquash); pulls.KindOf(err) != pulls.NotAllowed {
		t.Errorf("the merge of one that is closed: %v", err)
	}
	must(t, s.Call(ctx, tokens["alice"], "PATCH", "/repos/acme/infra/pulls/"+itoa(int64(number)),
		map[string]any{"state": "open"}, nil))
	ready("Blocked ChangesRequested a review requests changes")
	rejected("a rule of the branch", of, pulls.NotAllowed)
	must(t, s.Call(ctx, tokens["bob"], "POST", reviews, map[string]any{"event": "APPROVED", "body": "read"}, nil))
	ready("Allowed Sufficient")
	status("cairn/apply", pulls.Success)
	rejected("an older head", pulls.Merge{Number: number, Head: closed.Base.Commit, Base: "main"}, pulls.Conflict)
	eventually(t, "it is merged", func() bool { // 405 while it is checked again whether there are conflicts
		err := pulls.MergeHead(ctx, client, of, pulls.MethodSquash)
		if err != nil && pulls.KindOf(err) != pulls.NotAllowed {
			t.Fatal(err)
		}
		return err == nil
	})
	merged, err := client.Get(ctx, number)
	if err != nil || merged.State != pulls.Merged || merged.MergeCommit == "" || merged.Head.Commit != head {
		t.Errorf("after the merge: %+v, %v", merged, err)
	}
	rejected("what is merged", of, pulls.NotAllowed)
	must(t, pulls.MergeHead(ctx, client, of, pulls.MethodSquash))
	s.Kill()
	if _, err := client.Get(ctx, number); pulls.KindOf(err) != pulls.Unavailable {
		t.Errorf("without a server: %v", err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
