package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// judged is a Git provider with a readiness.
type judged struct {
	reviewedBy
	readiness pulls.Readiness
	err       error
	// requests counts those for it, and own is whether some contexts are those of Cairn.
	requests *int
	own      map[string]bool
}

func (c judged) Readiness(_ context.Context, of pulls.Merge, isOwn func(string) bool) (pulls.Readiness, error) {
	*c.requests++
	for context := range c.own {
		c.own[context] = isOwn(context)
	}
	if of != (pulls.Merge{Number: 12, Head: headOne, Base: "main"}) {
		return pulls.Readiness{}, errors.New("of another pull request")
	}
	return c.readiness, c.err
}

// accepted is a Git provider that would merge pull request 12, which bob has approved.
func accepted() judged {
	return judged{
		reviewedBy: reviewedBy{found: []pulls.Review{by("bob")}, committedBy: committedBy{logins: []string{"carol"}}},
		readiness: pulls.Readiness{
			Head: headOne, Base: headTwo, State: pulls.Open, Merge: pulls.MergeAllowed, Review: pulls.ReviewSufficient,
		},
		requests: new(int),
	}
}

// requiring is a pull request of carol with plans, which has to have all requirements.
func requiring() Snapshot {
	w := approvable()
	w.Settings.Apply = v1alpha1.ApplyBeforeMerge
	w.Settings.Requirements = []v1alpha1.Requirement{
		v1alpha1.RequirementApproved, v1alpha1.RequirementMergeable, v1alpha1.RequirementUndiverged,
	}
	return w
}

// applies lets a user comment /cairn apply.
func (w *Snapshot) applies(t *testing.T, user string, provider judged) {
	t.Helper()
	net := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"}}
	r := &Reconciler{Access: allowed(nil), Client: fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(net).
		Build()}
	body := "/cairn apply " + plansDigest(w.PullRequest.Status) + " net"
	provider.comments = []pulls.Comment{{ID: 1, Author: user, Body: body, Created: noon},
		{ID: 2, Author: user, Body: "/cairn help", Created: noon}}
	if _, _, err := r.commands(t.Context(), w, Provider{Name: "gitlab", Host: "git.example.com",
		Client: provider}); err != nil {
		t.Fatal(err)
	}
}

// A comment is rejected as long as a requirement is missing (atlantis #6535, #1508). For what is not known it is
// accepted: its Run waits.
func TestRequirementsKeepAnApplyBack(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*judged, *Snapshot)
		user   string
		held   bool
		// requests for what the Git provider would do.
		requests int
	}{
		"all are met":   {held: true, requests: 1},
		"no review":     {change: func(p *judged, _ *Snapshot) { p.found = nil }, requests: 1},
		"its own one":   {change: func(p *judged, _ *Snapshot) { p.found = []pulls.Review{by("carol")} }, requests: 1},
		"not mergeable": {change: func(p *judged, _ *Snapshot) { p.readiness.Merge = pulls.MergeBlocked }, requests: 1},
		"a draft since": {change: func(p *judged, _ *Snapshot) { p.readiness.Draft = true }, requests: 1},
		"it has diverged": {change: func(_ *judged, w *Snapshot) {
			w.Merge.Affected[1].Diverged = true
		}, requests: 1},
		"another Stack has diverged": {change: func(_ *judged, w *Snapshot) {
			w.Merge.Affected[0].Diverged = true
		}, held: true, requests: 1},
		"it cannot be read": {change: func(p *judged, _ *Snapshot) {
			p.err = errors.New("502")
		}, held: true, requests: 1},
		"a user without the verb": {user: "bob"},
		"not required":            {change: func(_ *judged, w *Snapshot) { w.Settings.Requirements = nil }, held: true},
	} {
		w, provider := requiring(), accepted()
		if tt.change != nil {
			tt.change(&provider, &w)
		}
		w.applies(t, cmp.Or(tt.user, "alice"), provider)
		got, held := w.PullRequest.Status.Commands, w.isHeld(Key{"web", "net"})
		if held != tt.held || *provider.requests != tt.requests || got.LastComment != 2 {
			t.Errorf("%s: held is %t, after %d requests: %s", name, held, *provider.requests, got.Answer)
		}
	}
}

// What is missing is published without a command, for open pull requests that a comment can apply, and without a
// request for each reconcile.
func TestRequirementsArePublished(t *testing.T) {
	w, provider, r := requiring(), accepted(), &Reconciler{}
	provider.found, provider.own = nil, map[string]bool{"cairn": false, "cairn/apply": false, "cairns": true}
	of := Provider{Name: "gitlab", Host: "git.example.com", Client: provider}
	for range 3 {
		r.gatherRequirements(t.Context(), &w, of)
	}
	s := &w.PullRequest.Status
	if len(s.Requirements) != 3 || s.Requirements[0].State != v1alpha1.RequirementMissing || *provider.requests != 1 {
		t.Errorf("%+v, %d requests", s.Requirements, *provider.requests)
	}
	if !provider.own["cairn"] || !provider.own["cairn/apply"] || provider.own["cairns"] {
		t.Errorf("statuses of Cairn: %v", provider.own)
	}
	text := comment.Render(w.reportOf(s), comment.Format{Limit: 60_000})
	if !strings.Contains(text, "- It requires `Approved: missing. no review approves head 111111111111") {
		t.Errorf("the comment is\n%s", text)
	}
	w.Settings.Requirements = w.Settings.Requirements[:1]
	if r.gatherRequirements(t.Context(), &w, of); len(s.Requirements) != 1 || *provider.requests != 2 {
		t.Errorf("the Repository has another list: %+v", s.Requirements)
	}
	w.Now = w.Now.Add(time.Minute)
	provider.err = errors.New("502")
	of.Client = provider
	if r.gatherRequirements(t.Context(), &w, of); s.Requirements[0].State != v1alpha1.RequirementUnknown ||
		w.ReadAgain != fetchLongest {
		t.Errorf("it cannot be read: %+v, again in %s", s.Requirements, w.ReadAgain)
	}
	for name, change := range map[string]func(*Snapshot){
		"a draft":          func(w *Snapshot) { w.PullRequest.Spec.Draft = true },
		"a fork":           func(w *Snapshot) { w.PullRequest.Spec.Fork = true },
		"a closed one":     func(w *Snapshot) { w.PullRequest.Spec.State = v1alpha1.PullRequestClosed },
		"after the merge":  func(w *Snapshot) { w.Settings.Apply = v1alpha1.ApplyAfterMerge },
		"without a Stack":  func(w *Snapshot) { w.Merge.Affected = nil },
		"without settings": func(w *Snapshot) { w.Settings = nil },
	} {
		w := requiring()
		w.PullRequest.Status.Requirements = s.Requirements
		change(&w)
		before := *provider.requests
		if r.gatherRequirements(t.Context(), &w, of); w.PullRequest.Status.Requirements != nil ||
			*provider.requests != before {
			t.Errorf("%s: %+v", name, w.PullRequest.Status.Requirements)
		}
	}
}
