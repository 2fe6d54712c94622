package pullrequest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// mayOn is RBAC in which each user has the verb plan on some Stacks.
type mayOn map[string][]Key

func (m mayOn) Allows(_ context.Context, user string, _ []string, _ string, stack Key) (bool, error) {
	return slices.Contains(m[strings.TrimPrefix(user, "gitlab:git.example.com:")], stack), nil
}

func (mayOn) AllowsRun(context.Context, string, []string, string, Key) (bool, error) {
	return false, nil
}

// Each Stack is planned if all users whose code the head has may plan it, or if a user who may plan it allowed the
// head. One that may not be planned keeps no other back.
func TestEachStackIsRestrictedByItself(t *testing.T) {
	const host = "gitlab:git.example.com:"
	app, net := Key{"web", "app"}, Key{"web", "net"}
	access := mayOn{"alice": {app, net}, "carol": {net}, "bob": {app}}
	by := func(user string, stacks ...string) v1alpha1.PullRequestAllowance {
		return v1alpha1.PullRequestAllowance{By: host + user, Stacks: stacks}
	}
	for name, tt := range map[string]struct {
		author     string
		committers []string
		change     func(*Snapshot)
		allowances []v1alpha1.PullRequestAllowance
		// head that is allowed; headOne is that of the pull request.
		head string
		want string
	}{
		"all by the author":                 {author: "alice", want: "app net"},
		"one by the author":                 {author: "carol", want: "net"},
		"none by the author":                {author: "mallory"},
		"one by the author and a committer": {author: "alice", committers: []string{"alice", "carol"}, want: "net"},
		"none by both":                      {author: "bob", committers: []string{"carol"}},
		"a committer who is not known":      {author: "alice", committers: []string{""}},
		"a fork": {author: "alice", change: func(w *Snapshot) {
			w.PullRequest.Spec.Fork = true
		}},
		"the rest by another user": {
			author: "carol", head: headOne, allowances: []v1alpha1.PullRequestAllowance{by("bob")}, want: "app net",
		},
		"a fork, one by its user": {
			author: "alice", change: func(w *Snapshot) { w.PullRequest.Spec.Fork = true },
			head: headOne, allowances: []v1alpha1.PullRequestAllowance{by("carol")}, want: "net",
		},
		"by name": {author: "mallory", head: headOne,
			allowances: []v1alpha1.PullRequestAllowance{by("alice", "web/net")}, want: "net"},
		"by name and by another": {author: "mallory", head: headOne,
			allowances: []v1alpha1.PullRequestAllowance{by("alice", "web/net"), by("bob")}, want: "app net"},
		"by name without the verb": {
			author: "mallory", head: headOne,
			allowances: []v1alpha1.PullRequestAllowance{by("carol", "web/app", "web/net")}, want: "net",
		},
		"of another head": {author: "mallory", head: headTwo,
			allowances: []v1alpha1.PullRequestAllowance{by("alice")}},
		"without an allowance": {author: "mallory", head: headOne},
	} {
		t.Run(name, func(t *testing.T) {
			w := pull()
			w.PullRequest.Spec.Author = host + tt.author
			if tt.change != nil {
				tt.change(&w)
			}
			commands := &w.PullRequest.Status.Commands
			commands.AllowedHead, commands.AllowedBy, commands.Allowances = tt.head, host+"alice", tt.allowances
			provider := Provider{Name: "gitlab", Host: "git.example.com", Client: committedBy{logins: tt.committers}}
			reason, err := restrict(t.Context(), access, &w, provider, w.Merge.Affected)
			if err != nil {
				t.Fatal(err)
			}
			var free []string
			for _, a := range w.Merge.Affected {
				if a.Restricted == "" {
					free = append(free, a.Name)
				}
			}
			if got := strings.Join(free, " "); got != tt.want ||
				(reason == "") != (tt.author == "alice" && tt.change == nil && len(tt.committers) == 0) {
				t.Errorf("planned: %q; %q", got, reason)
			}
		})
	}
}

// What a user allows of a head is added to what others allowed of it, and ends with the head.
func TestAllowances(t *testing.T) {
	var c v1alpha1.PullRequestCommands
	list := func() string {
		var all []string
		for _, a := range c.Allowances {
			all = append(all, a.By+":"+strings.Join(a.Stacks, ","))
		}
		return c.AllowedBy + " " + strings.Join(all, " ")
	}
	for i, tt := range []struct {
		head, user string
		stacks     []string
		want       string
	}{
		{headOne, "bob", []string{"web/net"}, "bob bob:web/net"},
		{headOne, "bob", []string{"web/app", "web/net"}, "bob bob:web/app,web/net"},
		{headOne, "carol", nil, "carol bob:web/app,web/net carol:"},
		{headOne, "carol", []string{"web/net"}, "carol bob:web/app,web/net carol:"},
		{headOne, "bob", nil, "bob bob: carol:"},
		{headTwo, "carol", []string{"web/net"}, "carol carol:web/net"},
	} {
		if allow(&c, tt.head, tt.user, tt.stacks); list() != tt.want || c.AllowedHead != tt.head {
			t.Errorf("%d: %q", i, list())
		}
	}
	c = v1alpha1.PullRequestCommands{}
	for range 2 * maxAllowances {
		allow(&c, headOne, "user "+strings.Repeat("x", len(c.Allowances)), nil)
	}
	if len(c.Allowances) != maxAllowances {
		t.Errorf("%d allowances", len(c.Allowances))
	}
}
