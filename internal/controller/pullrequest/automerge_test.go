package pullrequest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// mergeable is a pull request that Cairn merges: Stack net is applied, and the plan of app has no changes.
func mergeable(changes ...func(*Snapshot, *v1alpha1.Stack)) Snapshot {
	w := pull(func(w *Snapshot) { w.Settings = repositoryOf().Spec.PullRequests })
	w.Repository = repositoryOf()
	w.Settings.Apply = v1alpha1.ApplyBeforeMerge
	w.Settings.AutomaticMerge = &v1alpha1.AutomaticMerge{Method: v1alpha1.MergeMethodSquash}
	next(&w)
	w.planned("app", &v1alpha1.Plan{Digest: "sha256:app"})
	w.planned("net", &v1alpha1.Plan{Digest: "sha256:net", Changes: true, Change: 1})
	w.PullRequest.Status.Holds = []v1alpha1.PullRequestHold{{
		PullRequestStackApply: v1alpha1.PullRequestStackApply{
			Namespace: "web", Name: "net", Phase: v1alpha1.StackApplyPending,
		},
		Head: headOne, Base: headTwo, Branch: "main", At: metav1.NewTime(noon),
	}}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"}}
	stack.Status.Hold = &v1alpha1.StackHold{UID: "pull", Number: 12, Head: headOne}
	stack.Status.Revision = "pull/12@sha1:" + headOne
	stack.Status.InputsDigest, stack.Status.AppliedInputsDigest = "sha256:a", "sha256:a"
	w.Held = map[Key]AfterStack{{"web", "net"}: {
		Stack: stack, Read: true, Merged: map[string]bool{stack.Status.Revision: true},
	}}
	for _, change := range changes {
		change(&w, stack)
	}
	return w
}

// mergesOf returns the merges that a decision sends, and that nothing is sent after one.
func mergesOf(t *testing.T, d Decision) (all []content) {
	t.Helper()
	for i, m := range d.Messages.Send {
		if m.Content.merge == nil {
			continue
		}
		if all = append(all, m.Content); i != len(d.Messages.Send)-1 {
			t.Errorf("the merge is message %d of %d", i+1, len(d.Messages.Send))
		}
	}
	return all
}

// TestAppliedPullRequestIsMerged checks on which status of a pull request the merge is sent.
func TestAppliedPullRequestIsMerged(t *testing.T) {
	type change = func(*Snapshot, *v1alpha1.Stack)
	hold := func(w *Snapshot) *v1alpha1.PullRequestHold { return &w.PullRequest.Status.Holds[0] }
	for name, tt := range map[string]struct {
		change change
		sent   bool
	}{
		"all is applied": {func(*Snapshot, *v1alpha1.Stack) {}, true},
		"not set":        {func(w *Snapshot, _ *v1alpha1.Stack) { w.Settings.AutomaticMerge = nil }, false},
		"after the merge": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Settings.Apply = v1alpha1.ApplyAfterMerge
		}, false},
		"a draft": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Spec.Draft, w.Settings.Drafts = true, v1alpha1.DraftsPlan
		}, false},
		"a fork": {func(w *Snapshot, _ *v1alpha1.Stack) { w.PullRequest.Spec.Fork = true }, false},
		"it is closed": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Spec.State = v1alpha1.PullRequestClosed
		}, false},
		"it is merged": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Spec.State = v1alpha1.PullRequestMerged
		}, false},
		"a push":            {func(w *Snapshot, _ *v1alpha1.Stack) { w.PullRequest.Spec.Head.Commit = headTwo }, false},
		"the merge is old":  {func(w *Snapshot, _ *v1alpha1.Stack) { w.Merge.Head = headTwo }, false},
		"no merge is known": {func(w *Snapshot, _ *v1alpha1.Stack) { w.Merge = nil }, false},
		"a plan of other code": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Merge.Affected[0].InputsDigest = "sha256:other"
		}, false},
		"another Stack": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Merge.Affected = append(w.Merge.Affected, Affected{Key: Key{"web", "zone"}, InputsDigest: "sha256:zone"})
		}, false},
		"a Stack beyond the limit": {func(w *Snapshot, _ *v1alpha1.Stack) { *w.Settings.MaxStacks = 1 }, false},
		"a Stack with changes is not held": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Status.Stacks[0].Plan.Changes = true
		}, false},
		"a Stack that the merge creates": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Status.Stacks[0].New, w.Merge.Affected[0].New = true, true
		}, false},
		"the Stack applies": {func(_ *Snapshot, s *v1alpha1.Stack) {
			s.Status.AppliedInputsDigest = "sha256:before"
		}, false},
		"unlocked": {func(w *Snapshot, _ *v1alpha1.Stack) {
			hold(w).Released, hold(w).Phase = v1alpha1.HoldUnlocked, v1alpha1.StackApplyApplied
		}, false},
		"the hold is older": {func(w *Snapshot, s *v1alpha1.Stack) { hold(w).Head = headTwo }, false},
		"another branch":    {func(w *Snapshot, _ *v1alpha1.Stack) { hold(w).Branch = "release" }, false},
		"a newer base":      {func(w *Snapshot, _ *v1alpha1.Stack) { w.Merge.Base = headOne }, true},
		"a newer base with other code of the Stack": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Merge.Base, w.Merge.Affected[1].Diverged = headOne, true
		}, false},
		"a review is missing": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Settings.Requirements = []v1alpha1.Requirement{v1alpha1.RequirementApproved}
			w.PullRequest.Status.Requirements = []v1alpha1.PullRequestRequirement{
				{Type: v1alpha1.RequirementApproved, State: v1alpha1.RequirementMissing},
			}
		}, false},
		"requirements were not read": {func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Settings.Requirements = []v1alpha1.Requirement{v1alpha1.RequirementApproved}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(mergeable(tt.change))
			sent := mergesOf(t, d)
			if !tt.sent {
				if m := d.Status.AutomaticMerge; len(sent) > 0 ||
					m != nil && m.State != v1alpha1.AutomaticMergeWaiting {
					t.Errorf("sent %+v, %+v", sent, m)
				}
				return
			}
			want := mergeRequest{head: headOne, method: v1alpha1.MergeMethodSquash}
			if len(sent) != 1 || *sent[0].merge != want {
				t.Errorf("sent %+v: %+v", sent, d.Status.AutomaticMerge)
			}
		})
	}
}

// merging is a Git provider that answers to a merge.
type merging struct {
	commented
	rejection error
	got       *[]pulls.Merge
}

func (m merging) Get(context.Context, int) (pulls.PullRequest, error) {
	return pulls.PullRequest{
		Number: 12, State: pulls.Open, Head: pulls.Ref{Commit: headOne}, Base: pulls.Ref{Branch: "main"},
	}, nil
}

func (m merging) Merge(_ context.Context, of pulls.Merge, _ pulls.Method) error {
	*m.got = append(*m.got, of)
	return m.rejection
}

// TestAnswerToAMerge checks what the status and the comment have after each answer, and when the merge is sent again.
func TestAnswerToAMerge(t *testing.T) {
	rejected := &pulls.Error{Kind: pulls.NotAllowed, Status: 405, Message: "a `check` is | pending"}
	down := &pulls.Error{Kind: pulls.Unavailable, Message: "timeout"}
	for name, tt := range map[string]struct {
		answer  error
		state   v1alpha1.AutomaticMergeState
		again   time.Duration
		comment string
	}{
		"accepted": {nil, v1alpha1.AutomaticMergeAccepted, 0, "All is applied: Cairn merges this head (`squash`)."},
		"rejected": {rejected, v1alpha1.AutomaticMergeFailed, 15 * time.Second,
			"**The automatic merge (`squash`) failed**: "},
		"no answer":   {down, v1alpha1.AutomaticMergeMerging, 0, "All is applied: Cairn merges this head (`squash`)."},
		"it is ended": {errors.New("context canceled"), v1alpha1.AutomaticMergeMerging, 0, "All is applied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mergeable()
			d := Decide(w)
			w.PullRequest.Status = d.Status
			var got []pulls.Merge
			r, answer := &Reconciler{Clock: func() time.Time { return noon }}, received{}
			provider := Provider{Client: merging{rejection: tt.answer, got: &got}}
			send := r.sender(w.PullRequest, provider, &answer)
			request := d.Messages.Send[len(d.Messages.Send)-1]
			_, err := send(t.Context(), request, outbox.Record{})
			if (err != nil) != (tt.state == v1alpha1.AutomaticMergeMerging) || len(got) != 1 ||
				got[0] != (pulls.Merge{Number: 12, Head: headOne, Base: "main"}) {
				t.Fatalf("%v, sent %v", err, got)
			}
			w.PullRequest.Status = acknowledge(d.Status, acts{}, outbox.Sent{Ledger: d.Messages.Ledger})
			answer.merge.record(&w.PullRequest.Status)
			after := Decide(w)
			m := after.Status.AutomaticMerge
			if m.State != tt.state || m.Attempts != 1 {
				t.Errorf("after it: %+v", m)
			}
			if sent := mergesOf(t, after); len(sent) > 0 != (tt.state == v1alpha1.AutomaticMergeMerging) {
				t.Errorf("sent again: %v", sent)
			}
			report := mergeOf(&after.Status)
			if report == nil || tt.again > 0 && (after.Again != tt.again || !report.Again.Equal(m.NextAttemptAt)) {
				t.Errorf("again after %s, %+v", after.Again, report)
			}
			text := w.reportOf(&after.Status)
			if body := comment.Render(text, comment.Format{Limit: 65_536}); !strings.Contains(body, tt.comment) {
				t.Errorf("the comment is %s", body)
			}
			if tt.again == 0 {
				return
			}
			w.PullRequest.Status, w.Now = after.Status, w.Now.Add(tt.again)
			if d = Decide(w); len(mergesOf(t, d)) != 1 || d.Status.AutomaticMerge.Attempts != 2 {
				t.Errorf("later: %+v", d.Status.AutomaticMerge)
			}
		})
	}
}

// TestAutomaticMergeOfAnEndedPullRequest checks that a record of a merge that Cairn requested stays, and no other.
func TestAutomaticMergeOfAnEndedPullRequest(t *testing.T) {
	for state, stays := range map[v1alpha1.AutomaticMergeState]bool{
		v1alpha1.AutomaticMergeAccepted: true, v1alpha1.AutomaticMergeMerging: true,
		v1alpha1.AutomaticMergeWaiting: false, v1alpha1.AutomaticMergeFailed: false,
	} {
		w := mergeable(func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Spec.State = v1alpha1.PullRequestMerged
			w.PullRequest.Status.AutomaticMerge = &v1alpha1.PullRequestAutomaticMerge{Head: headOne, State: state}
		})
		d := Decide(w)
		if got := d.Status.AutomaticMerge; (got != nil) != stays || len(mergesOf(t, d)) > 0 {
			t.Errorf("%s: %+v", state, got)
		}
	}
}
