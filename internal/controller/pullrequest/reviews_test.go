package pullrequest

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// reviewedBy is a Git provider with reviews.
type reviewedBy struct {
	committedBy
	found []pulls.Review
	err   error
	// requests counts those for reviews.
	requests *int
}

func (c reviewedBy) Reviews(context.Context, int) ([]pulls.Review, error) {
	if c.requests != nil {
		*c.requests++
	}
	return c.found, c.err
}

// postedAt is when the comment has the plans of reviewable.
var postedAt = noon.Add(time.Minute)

// reviewable is a pull request of carol with the plans of app and net, which a review can approve.
func reviewable() Snapshot {
	w := approvable()
	w.Settings.CarryApproval.From = []v1alpha1.ApprovalSource{v1alpha1.ApprovalCommands, v1alpha1.ApprovalReviews}
	show(&w.PullRequest.Status, postedAt)
	return w
}

// reads lets the reviews be read. Carol has all commits.
func (w *Snapshot) reads(t *testing.T, access Access, provider reviewedBy) {
	t.Helper()
	if provider.logins == nil {
		provider.logins = []string{"carol"}
	}
	r := &Reconciler{Access: access}
	if err := r.gatherReviews(t.Context(), w, Provider{Name: "gitlab", Host: "git.example.com",
		Client: provider}); err != nil {
		t.Fatal(err)
	}
}

// by is a review of the head, a minute after the comment has the plans.
func by(login string, changes ...func(*pulls.Review)) pulls.Review {
	review := pulls.Review{Author: login, Commit: headOne, At: postedAt.Add(time.Minute)}
	for _, change := range changes {
		change(&review)
	}
	return review
}

func at(when time.Time) func(*pulls.Review) { return func(r *pulls.Review) { r.At = when } }

func TestAReviewApprovesThePlansThatTheCommentHasBeforeIt(t *testing.T) {
	const alice, dave = "gitlab:git.example.com:alice", "gitlab:git.example.com:dave"
	for name, tt := range map[string]struct {
		found  []pulls.Review
		access Access
		logins []string
		change func(*Snapshot, *v1alpha1.PullRequestStack)
		want   string
	}{
		"after the plans":             {found: []pulls.Review{by("alice")}, want: alice},
		"before the plans":            {found: []pulls.Review{by("alice", at(noon))}},
		"in the same second":          {found: []pulls.Review{by("alice", at(postedAt))}},
		"at a time that is not known": {found: []pulls.Review{by("alice", at(time.Time{}))}},
		"of another head": {found: []pulls.Review{by("alice", func(r *pulls.Review) {
			r.Commit = headTwo
		})}},
		"of a head that is not known":    {found: []pulls.Review{by("alice", func(r *pulls.Review) { r.Commit = "" })}},
		"by who opened the pull request": {found: []pulls.Review{by("Carol")}, access: verbs(true)},
		"who opened it is not known": {found: []pulls.Review{by("alice")},
			change: func(w *Snapshot, _ *v1alpha1.PullRequestStack) {
				w.PullRequest.Spec.Author = ""
			}},
		"by a user without the verb":    {found: []pulls.Review{by("bob")}},
		"by a login that cannot be one": {found: []pulls.Review{by("a b")}, access: verbs(true)},
		"none":                          {},
		"by two, the newest": {found: []pulls.Review{by("alice"), by("dave", at(postedAt.Add(time.Hour)))},
			access: verbs(true), want: dave},
		"by two, one without the verb": {found: []pulls.Review{by("alice"), by("bob", at(postedAt.Add(time.Hour)))},
			want: alice},
		"by a user with a commit": {found: []pulls.Review{by("alice")}, logins: []string{"alice"}, want: alice +
			" author"},
		"with a commit of any user": {found: []pulls.Review{by("alice")}, logins: []string{""}, want: alice +
			" author"},
		"by two, one without a commit": {found: []pulls.Review{by("alice"), by("dave", at(postedAt.Add(time.Hour)))},
			access: verbs(true), logins: []string{"dave"}, want: alice},
		"without a comment with the plan": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Shown = nil
			}},
		"the comment has another plan": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Shown.Fingerprint = "create two"
			}},
		"the comment has another head": {found: []pulls.Review{by("alice", func(r *pulls.Review) {
			r.Commit = headTwo
		})}, change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
			s.Shown.Head = headTwo
		}},
		"a plan that a policy denies": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Plan.Policy = &v1alpha1.PolicyResult{Denied: 1}
			}},
		"a plan that was not read": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Plan.Unverified = "encrypted"
			}},
		"a plan without changes": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Plan.Changes = false
			}},
		"a plan that failed": {found: []pulls.Review{by("alice")},
			change: func(_ *Snapshot, s *v1alpha1.PullRequestStack) {
				s.Phase = v1alpha1.PhaseFailed
			}},
		"reviews do not count": {found: []pulls.Review{by("alice")},
			change: func(w *Snapshot, _ *v1alpha1.PullRequestStack) {
				w.Settings.CarryApproval.From = nil
			}},
	} {
		w := reviewable()
		if tt.change != nil {
			tt.change(&w, &w.PullRequest.Status.Stacks[w.stack(Key{"web", "net"})])
		}
		if tt.access == nil {
			tt.access = allowed(nil)
		}
		w.reads(t, tt.access, reviewedBy{found: tt.found, committedBy: committedBy{logins: tt.logins}})
		got := ""
		if a := w.approval("net"); a != nil {
			got = a.By
			if a.Author {
				got += " author"
			}
			if a.From != v1alpha1.ApprovalReviews || a.Head != headOne || a.PlanDigest != "sha256:create net" ||
				a.Fingerprint != "create net" || a.Void != "" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A push, a plan that does something else and a dismissed review end an approval. What reads the plan again is a review
// that is newer than it.
func TestWhatEndsTheApprovalByAReview(t *testing.T) {
	replanned := func(w *Snapshot, effect string) {
		w.Merge.Affected[1].InputsDigest += " of a new base"
		next(w)
		if effect != "" {
			w.planned("net", planFor(effect))
		}
	}
	for name, tt := range map[string]struct {
		change func(*Snapshot)
		found  []pulls.Review
		want   string
	}{
		"nothing":            {func(*Snapshot) {}, []pulls.Review{by("alice")}, ""},
		"a dismissed review": {func(*Snapshot) {}, nil, "no review of this user approves this plan now"},
		"a push": {func(w *Snapshot) {
			w.PullRequest.Spec.Head.Commit = headTwo
			next(w)
		}, []pulls.Review{by("alice")}, "the pull request has another head commit now"},
		"a new plan in progress": {func(w *Snapshot) { replanned(w, "") }, nil, ""},
		"a new plan that does the same": {func(w *Snapshot) { replanned(w, "create net") }, []pulls.Review{by("alice")},
			""},
		"a new plan that does more": {func(w *Snapshot) { replanned(w, "create two") }, []pulls.Review{by("alice")},
			"the plan does something else now"},
		"it did more once": {func(w *Snapshot) {
			replanned(w, "create two")
			replanned(w, "create net")
			show(&w.PullRequest.Status, postedAt.Add(time.Hour))
		}, []pulls.Review{by("alice")}, "the plan does something else now"},
		"it did more once, and is reviewed again": {func(w *Snapshot) {
			replanned(w, "create two")
			replanned(w, "create net")
			show(&w.PullRequest.Status, postedAt.Add(time.Hour))
		}, []pulls.Review{by("alice", at(postedAt.Add(2*time.Hour)))}, ""},
	} {
		w := reviewable()
		w.reads(t, allowed(nil), reviewedBy{found: []pulls.Review{by("alice")}})
		if a := w.approval("net"); a == nil || a.Void != "" {
			t.Fatalf("%s: %+v", name, a)
		}
		tt.change(&w)
		w.reads(t, allowed(nil), reviewedBy{found: tt.found})
		next(&w)
		if a := w.approval("net"); a == nil || a.Void != tt.want {
			t.Errorf("%s: %+v, want %q", name, a, tt.want)
		}
	}
}

// A command that rejects ends the reviews before it, also those of other users.
func TestARejectionEndsTheReviewsBeforeIt(t *testing.T) {
	w := reviewable()
	old := []pulls.Review{by("alice"), by("dave")}
	w.reads(t, verbs(true), reviewedBy{found: old})
	w.Now = postedAt.Add(time.Hour)
	shown := plansDigest(w.PullRequest.Status)
	w.comments(t, "alice", "/cairn reject "+shown+" net")
	w.reads(t, verbs(true), reviewedBy{found: old})
	if a := w.approval("net"); a == nil || !strings.Contains(a.Void, "it is rejected by") {
		t.Errorf("%+v", a)
	}
	if a := w.approval("app"); a == nil || a.Void != "" {
		t.Errorf("a Stack that is not named: %+v", a)
	}
	w.reads(t, verbs(true), reviewedBy{found: []pulls.Review{by("dave", at(w.Now.Add(time.Minute)))}})
	if a := w.approval("net"); a == nil || a.Void != "" || a.By != "gitlab:git.example.com:dave" {
		t.Errorf("a newer review: %+v", a)
	}
}

// An approval by a command stays when reviews are read, and one that is void does not.
func TestACommandAndAReview(t *testing.T) {
	w := reviewable()
	w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
	w.reads(t, verbs(true), reviewedBy{found: []pulls.Review{by("dave")}})
	if a := w.approval("net"); a == nil || a.By != "gitlab:git.example.com:alice" || a.From != "" {
		t.Errorf("%+v", a)
	}
	w.Settings.CarryApproval.From = []v1alpha1.ApprovalSource{v1alpha1.ApprovalReviews}
	answer := w.comments(t, "alice", "/cairn reject "+plansDigest(w.PullRequest.Status)+" net")
	if !strings.Contains(answer, "approve with a review") {
		t.Errorf("%q", answer)
	}
	w.reads(t, verbs(true), reviewedBy{found: []pulls.Review{by("dave")}})
	if a := w.approval("net"); a == nil || a.By != "gitlab:git.example.com:dave" ||
		a.Text() != "approved by a review of gitlab:git.example.com:dave" {
		t.Errorf("commands do not count: %+v", a)
	}
	text := comment.Render(w.reportOf(&w.PullRequest.Status), comment.Format{Limit: 60_000})
	if strings.Contains(text, "/cairn approve") || !strings.Contains(text, "An approving review of this head") {
		t.Error(text)
	}
}

// After the merge the reviews are read again: one may be the last act before it, and one may be dismissed since.
func TestAReviewIsCarriedToTheRunOfTheMerge(t *testing.T) {
	const counts, not = "Approved by gitlab:git.example.com:alice", "The approval by gitlab:git.example.com:alice " +
		"does not count: "
	for name, tt := range map[string]struct {
		before, after []pulls.Review
		err           error
		from          v1alpha1.ApprovalSource
		want          string
	}{
		"known before the merge": {before: []pulls.Review{by("alice")}, after: []pulls.Review{by("alice")},
			want: counts},
		"the last act before the merge": {after: []pulls.Review{by("alice")}, want: counts},
		"dismissed": {before: []pulls.Review{by("alice")}, want: not +
			"no review of this user approves this plan now"},
		"by who opened it": {after: []pulls.Review{by("carol")}},
		"reviews that cannot be read": {
			before: []pulls.Review{by("alice")}, err: &pulls.Error{Kind: pulls.Forbidden, Status: 403, Message: "no"},
			want: not + "Cairn cannot read the reviews: the Git provider responded 403: no",
		},
		"reviews that were never read": {err: &pulls.Error{Kind: pulls.Forbidden, Status: 403, Message: "no"}},
		"reviews do not count any more": {before: []pulls.Review{by("alice")}, after: []pulls.Review{by("alice")},
			from: v1alpha1.ApprovalCommands},
		"the user had to be another one":   {after: []pulls.Review{by("bob")}},
		"older than the plan in a comment": {after: []pulls.Review{by("alice", at(noon))}},
	} {
		w := reviewable()
		w.reads(t, allowed(nil), reviewedBy{found: tt.before})
		if tt.from != "" {
			w.Settings.CarryApproval.From = []v1alpha1.ApprovalSource{tt.from}
		}
		w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit, w.Merge = v1alpha1.PullRequestMerged, headTwo, nil
		waits := afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval))
		waits.Run.Status.Plan, waits.Run.Spec.Cause.Type = planFor("create net"), v1alpha1.CauseCommit
		w.after(afterMerge(past(withRevision, opApply, true)), waits)
		w.reads(t, allowed(nil), reviewedBy{found: tt.after, err: tt.err})
		r := &Reconciler{Access: verbs(true), Merger: &gitModel{}}
		if err := r.gatherCarried(t.Context(), &w, Provider{Name: "gitlab", Host: "git.example.com",
			Client: commented{}}); err != nil {
			t.Fatal(err)
		}
		d := Decide(w)
		if got := d.Status.Apply.Stacks[1].Approval; got != tt.want || (len(d.Carried) == 1) != (tt.want == counts) {
			t.Errorf("%s: %q, %d are carried, want %q", name, got, len(d.Carried), tt.want)
		}
		if tt.err != nil && d.Again == 0 {
			t.Errorf("%s: they are never read again", name)
		}
	}
}

// A Git provider that does not respond is no reason to approve or to reject: it is tried again.
func TestReviewsOfAProviderThatDoesNotRespond(t *testing.T) {
	w := reviewable()
	w.reads(t, allowed(nil), reviewedBy{found: []pulls.Review{by("alice")}})
	r := &Reconciler{Access: allowed(nil)}
	down := Provider{Name: "gitlab", Host: "git.example.com",
		Client: reviewedBy{err: &pulls.Error{Kind: pulls.Unavailable}}}
	if err := r.gatherReviews(t.Context(), &w, down); pulls.KindOf(err) != pulls.Unavailable ||
		w.approval("net").Void != "" {
		t.Errorf("%v, %+v", err, w.approval("net"))
	}
}

// Reviews are read after each update of a pull request, and not with each event of a Run.
func TestReviewsAreReadOnceForAnUpdate(t *testing.T) {
	w, n := reviewable(), 0
	r := &Reconciler{Access: allowed(nil)}
	provider := Provider{Name: "gitlab", Host: "git.example.com", Client: reviewedBy{requests: &n}}
	for i, step := range []struct {
		change func()
		want   int
	}{
		{func() {}, 1},
		{func() { w.Now = w.Now.Add(30 * time.Second) }, 1},
		{func() { w.PullRequest.Spec.UpdatedAt = metav1.NewTime(noon.Add(time.Hour)) }, 2},
		{func() { w.Now = w.Now.Add(time.Minute) }, 3},
		{func() { w.PullRequest.Status.Stacks = nil; w.Now = w.Now.Add(time.Hour) }, 3},
	} {
		step.change()
		if err := r.gatherReviews(t.Context(), &w, provider); err != nil || n != step.want {
			t.Errorf("step %d: %d requests, %v", i, n, err)
		}
	}
}

// A review that is dismissed between the last update and the merge does not count.
func TestReviewsAreReadAgainAfterTheMerge(t *testing.T) {
	w, n := reviewable(), 0
	r := &Reconciler{Access: allowed(nil)}
	provider := func(found ...pulls.Review) Provider {
		all := reviewedBy{requests: &n, found: found, committedBy: committedBy{logins: []string{"carol"}}}
		return Provider{Name: "gitlab", Host: "git.example.com", Client: all}
	}
	if err := r.gatherReviews(t.Context(), &w, provider(by("alice"))); err != nil || w.approval("net").Void != "" {
		t.Fatal(err, w.approval("net"))
	}
	w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit, w.Merge = v1alpha1.PullRequestMerged, headTwo, nil
	applied := afterMerge(past(withRevision, opApply, true))
	w.after(applied, applied)
	if err := r.gatherReviews(t.Context(), &w, provider()); err != nil || n != 1 {
		t.Errorf("no Run waits: %d requests, %v", n, err)
	}
	w.after(applied, afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)))
	if err := r.gatherReviews(t.Context(), &w, provider()); err != nil || n != 2 || w.approval("net").Void == "" {
		t.Errorf("%d requests, %v, %+v", n, err, w.approval("net"))
	}
}

// What the comment has is known by its time at the Git provider: rounded up, as a status has seconds, and only while
// the plan is the same.
func TestSinceWhenTheCommentHasAPlan(t *testing.T) {
	w := approvable()
	shown := func(want string, at time.Time) {
		t.Helper()
		show(&w.PullRequest.Status, at)
		got := ""
		if s := w.PullRequest.Status.Stacks[w.stack(Key{"web", "net"})].Shown; s != nil {
			got = s.Since.UTC().Format("15:04:05.000")
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	shown("", time.Time{})
	shown("12:01:01.000", postedAt.Add(time.Millisecond))
	shown("12:01:01.000", postedAt.Add(time.Hour)) // the same plan again
	w.Merge.Affected[1].InputsDigest = "sha256:of a new base"
	next(&w)
	shown("12:01:01.000", postedAt.Add(time.Hour)) // while another plan is in progress
	w.planned("net", planFor("create two"))
	if s := w.PullRequest.Status.Stacks[1].Shown; s != nil {
		t.Errorf("of the plan before: %+v", s)
	}
	shown("13:01:00.000", postedAt.Add(time.Hour))
	w.PullRequest.Status.Phase = v1alpha1.PullRequestEnded
	w.PullRequest.Status.Stacks[1].Shown = nil
	shown("", postedAt.Add(2*time.Hour)) // a plan that was never there before the merge
}

// upserts is a Git provider that reports when it received a comment.
type upserts struct{ commented }

func (upserts) Upsert(context.Context, int, int64, func(string) bool, string) (pulls.Written, error) {
	return pulls.Written{ID: 7, At: postedAt}, nil
}
func (upserts) Limits() pulls.Limits { return pulls.Limits{Comment: 1000} }

// The comment with the result of the apply has no plans.
func TestOnlyTheCommentWithThePlansShowsThem(t *testing.T) {
	w := approvable()
	for key, want := range map[string]time.Time{commentKey: postedAt, resultKey: {}} {
		var got received
		r := &Reconciler{Client: fake.NewClientBuilder().Build()}
		report := w.reportOf(&w.PullRequest.Status)
		report.Stacks = nil
		send := r.sender(w.PullRequest, Provider{Client: upserts{}}, &got)
		response, err := send(t.Context(), w.commentMessage(key, report), outbox.Record{})
		if err != nil || response.Reference != "7" || !got.written.Equal(want) {
			t.Errorf("%s: %+v, %v, %v", key, response, err, got.written)
		}
	}
}
