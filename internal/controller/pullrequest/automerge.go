package pullrequest

import (
	"context"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/automerge"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// mergesItself reports whether Cairn merges what is applied before the merge.
func (w *Snapshot) mergesItself() bool { return w.appliesBefore() && w.Settings.AutomaticMerge != nil }

// comparesBase reports whether it is gathered which Stacks the base has newer code of.
func comparesBase(s *v1alpha1.PullRequests) bool {
	return requiresUndiverged(s) || s.Apply == v1alpha1.ApplyBeforeMerge && s.AutomaticMerge != nil
}

// nextMerge returns the state of the automatic merge with the next status; nil for none.
func (w *Snapshot) nextMerge(next *v1alpha1.PullRequestStatus) *v1alpha1.PullRequestAutomaticMerge {
	known := w.PullRequest.Status.AutomaticMerge
	switch {
	case next.Phase.Ended():
		if known != nil && (known.State == v1alpha1.AutomaticMergeMerging ||
			known.State == v1alpha1.AutomaticMergeAccepted) {
			return known.DeepCopy()
		}
		return nil
	case !w.mergesItself():
		return nil
	case next.Phase == v1alpha1.PullRequestMerging: // what is affected is not known
		return known.DeepCopy()
	}
	return automerge.Next(w.mergeFacts(next))
}

func (w *Snapshot) mergeFacts(next *v1alpha1.PullRequestStatus) automerge.Facts {
	spec := w.PullRequest.Spec
	f := automerge.Facts{
		Now: w.Now, Method: w.Settings.AutomaticMerge.Method, Head: next.Head, Base: spec.Base,
		Open: spec.State == v1alpha1.PullRequestOpen, Draft: spec.Draft, Fork: spec.Fork,
		Planned:      w.arePlansOf(next),
		Requirements: next.Requirements, RequirementsRead: !w.requires() || w.hasRequirements(),
		Known: w.PullRequest.Status.AutomaticMerge,
	}
	for _, h := range next.Holds {
		if f.CommandAt.Before(&h.At) {
			f.CommandAt = h.At
		}
		if h.Released == "" {
			key := Key{h.Namespace, h.Name}.String()
			f.Holds = append(f.Holds, automerge.Hold{Key: key, Head: h.Head, Branch: h.Branch, Phase: h.Phase})
		}
	}
	for _, s := range next.Stacks {
		key := Key{s.Namespace, s.Name}
		f.Stacks = append(f.Stacks, automerge.Stack{
			Key: key.String(), Unchanged: s.Plan != nil && !s.Plan.Changes, AfterMerge: appliedLater(s),
			Same: w.isSame(key),
		})
	}
	return f
}

// arePlansOf reports whether all affected Stacks are planned with the newest head, and all plans succeeded.
func (w *Snapshot) arePlansOf(next *v1alpha1.PullRequestStatus) bool {
	return next.Phase == v1alpha1.PullRequestPlanned && w.Merge != nil &&
		w.Merge.Head == w.PullRequest.Spec.Head.Commit &&
		apimeta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady)
}

// appliedLater returns why a Stack is not applied before the merge; empty if it can be, or if nothing is left to apply.
func appliedLater(s v1alpha1.PullRequestStack) string {
	if s.Deferred {
		return "it is planned after the merge"
	}
	if s.Plan != nil && !s.Plan.Changes && !s.New && s.DeletedDirectory == "" {
		return ""
	}
	return afterMergeOnly(s)
}

// isSame reports whether what the pull request applies to a Stack is the code of its merge into the newest base: the
// base is that of the command, or its newer commits do not change the code.
func (w *Snapshot) isSame(key Key) bool {
	i := w.holds(key)
	if i < 0 || w.Merge == nil {
		return false
	}
	if w.PullRequest.Status.Holds[i].Base == w.Merge.Base {
		return true
	}
	return slices.ContainsFunc(w.Merge.Affected, func(a Affected) bool { return a.Key == key && !a.Diverged })
}

// mergeAgain returns when the merge is requested again; 0 for not before an event.
func (w Snapshot) mergeAgain(m *v1alpha1.PullRequestAutomaticMerge) time.Duration {
	if m == nil || m.NextAttemptAt == nil {
		return 0
	}
	return max(m.NextAttemptAt.Sub(w.Now), time.Second)
}

// mergeMessage returns the request to merge the pull request; none if it is not due. Nothing records that it was sent
// but the state of the merge: a request that is sent twice is of the same head.
func (w Snapshot) mergeMessage(next *v1alpha1.PullRequestStatus) (all []message) {
	m := next.AutomaticMerge
	if m == nil || m.State != v1alpha1.AutomaticMergeMerging || next.Phase != v1alpha1.PullRequestPlanned {
		return nil
	}
	return []message{{
		Key: mergeRequestKey, Digest: m.Head, Receiver: w.receiver(),
		Content: content{merge: &mergeRequest{head: m.Head, method: m.Method}},
	}}
}

// sendMerge requests the merge. It returns an error only if there is no answer, so that it is requested again.
func (r *Reconciler) sendMerge(
	ctx context.Context, pull *v1alpha1.PullRequest, provider Provider, m mergeRequest, got *received,
) error {
	of := pulls.Merge{Number: int(pull.Spec.Number), Head: m.head, Base: pull.Spec.Base}
	err := pulls.MergeHead(ctx, provider, of, pulls.Method(m.method))
	kind := pulls.KindOf(err)
	if err != nil && (kind == "" || kind == pulls.Unavailable || kind == pulls.RateLimited) {
		return err
	}
	got.merge = &mergeAnswer{rejection: err, at: now(r.Clock)}
	return nil
}

// mergeAnswer is the answer to a request to merge.
type mergeAnswer struct {
	// rejection is nil if the Git provider accepted it.
	rejection error
	at        time.Time
}

// record sets the state of the automatic merge after the answer; nil is none.
func (a *mergeAnswer) record(s *v1alpha1.PullRequestStatus) {
	if a != nil {
		s.AutomaticMerge = automerge.Result(*s.AutomaticMerge, a.at, a.rejection)
	}
}

// mergeOf returns what is reported about the automatic merge; nil for nothing.
func mergeOf(s *v1alpha1.PullRequestStatus) *comment.AutomaticMerge {
	m := s.AutomaticMerge
	if m == nil || s.Phase.Ended() {
		return nil
	}
	report := &comment.AutomaticMerge{Method: m.Method, State: m.State, Message: m.Message}
	if m.NextAttemptAt != nil {
		report.Again = &metav1.Time{Time: m.NextAttemptAt.Time}
	}
	return report
}
