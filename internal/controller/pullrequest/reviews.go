package pullrequest

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// maxReviews is the maximum number of reviews that can approve a plan and whose users are checked, the newest first.
const maxReviews = 50

// reviewsFor is how long the reviews of an open pull request are used that was not updated since.
const reviewsFor = time.Minute - time.Second

// review is an approving review at the Git provider.
type review struct {
	// by is the user, as the name of a user for RBAC; empty if the login cannot be one.
	by     string
	commit string
	// at is the time of the review by the clock of the Git provider; zero if it is not known.
	at time.Time
	// author reports that the user has, or may have, a commit in the pull request.
	author bool
	// may are the namespaces in which the user has the verb approve on Runs.
	may map[string]bool
}

// isReviewable reports whether a review can approve the plan of a Stack: the comment has a plan that does the same.
func isReviewable(s v1alpha1.PullRequestStack, head string) bool {
	return s.Shown != nil && s.Shown.Head == head && s.Phase == v1alpha1.PhaseSucceeded && isComparable(s) &&
		s.Plan.Changes &&
		s.Shown.Fingerprint == s.Plan.Fingerprint && (s.Plan.Policy == nil || s.Plan.Policy.Denied == 0)
}

// isOf reports whether a review is of a plan that isReviewable, and not by the user who opened the pull request.
func (v review) isOf(s v1alpha1.PullRequestStack, opened string) bool {
	switch {
	case v.by == "" || opened == "" || strings.EqualFold(v.by, opened):
		return false
	case v.commit != s.Shown.Head:
		return false
	}
	return v.at.After(s.Shown.Since.Time)
}

// setReviewed records which plans reviews approve. An approval by a command stays while it counts.
func (w *Snapshot) setReviewed(reviews []review) {
	spec := w.PullRequest.Spec
	for i := range w.PullRequest.Status.Stacks {
		s := &w.PullRequest.Status.Stacks[i]
		known := standing(*s, spec.Head.Commit)
		counts := known != nil && known.Void == "" && w.Settings.CarryApproval.Accepts(known.From)
		if !s.Phase.Finished() || counts && known.From != v1alpha1.ApprovalReviews {
			continue
		}
		n := -1
		if isReviewable(*s, spec.Head.Commit) {
			n = slices.IndexFunc(reviews, func(v review) bool { return v.isOf(*s, spec.Author) && v.may[s.Namespace] })
		}
		switch {
		case n >= 0:
			s.Approval = &v1alpha1.PullRequestApproval{
				By: reviews[n].by, From: v1alpha1.ApprovalReviews, At: metav1.Time{Time: reviews[n].at},
				Head:       s.Shown.Head,
				PlanDigest: s.Plan.Digest, Fingerprint: s.Plan.Fingerprint, Author: reviews[n].author,
			}
		case counts:
			known.Void = "no review of this user approves this plan now"
			s.Approval = known
		}
	}
}

// gatherReviews reads the reviews that can approve a plan, and records in the status of the snapshot what they approve.
// Of a pull request that is merged or applied, it reads them each time: a review may be dismissed, or be the last act
// before the merge.
func (r *Reconciler) gatherReviews(ctx context.Context, w *Snapshot, provider Provider) error {
	pull := w.PullRequest
	if w.Settings == nil || !w.Settings.CarryApproval.Accepts(v1alpha1.ApprovalReviews) || !w.needsReviews() {
		return nil
	}
	last, ok := r.reviewed.get(pull.UID)
	applies := w.After != nil || len(w.Held) > 0
	if ok && !applies && last.updated.Equal(pull.Spec.UpdatedAt.Time) && w.Now.Sub(last.at) < reviewsFor {
		return nil
	}
	found, err := provider.Reviews(ctx, int(pull.Spec.Number))
	if rejects(err) { // which keeps nothing else back
		w.UnreadReviews, w.ReadAgain = err.Error(), sooner(w.ReadAgain, fetchLongest)
		return nil
	}
	if err != nil {
		return err
	}
	reviews, err := r.reviewsOf(ctx, w, provider, found)
	if err != nil {
		return err
	}
	w.setReviewed(reviews)
	r.reviewed.add(pull.UID, reading{pull.Spec.UpdatedAt.Time, w.Now})
	return nil
}

// needsReviews reports whether a review can approve a plan, or did: of an open pull request any, and of a merged one
// that of a Run which waits.
func (w *Snapshot) needsReviews() bool {
	pull := w.PullRequest
	isOpen := w.Merge != nil && pull.Spec.State == v1alpha1.PullRequestOpen
	return slices.ContainsFunc(pull.Status.Stacks, func(s v1alpha1.PullRequestStack) bool {
		isReviewed := s.Approval != nil && s.Approval.From == v1alpha1.ApprovalReviews && s.Approval.Void == ""
		if !isReviewed && !isReviewable(s, pull.Spec.Head.Commit) {
			return false
		}
		return isOpen || w.awaitsApproval(Key{s.Namespace, s.Name})
	})
}

// applying returns the Stacks among which a Stack applies the pull request: those after the merge, or those to which it
// is applied before.
func (w *Snapshot) applying(of Key) map[Key]AfterStack {
	if a := w.After; a != nil && a.Known && a.InBase {
		if _, ok := a.Stacks[of]; ok {
			return a.Stacks
		}
	}
	return w.Held
}

// awaitsApproval reports whether the Run of a Stack that applies the pull request waits for an approval.
func (w *Snapshot) awaitsApproval(of Key) bool {
	run := w.applying(of)[of].Run
	return run != nil && run.Status.Phase == v1alpha1.PhaseAwaitingApproval
}

// reviewsOf returns the reviews that can approve a plan, with what is known about their users: first those without a
// commit in the pull request, and the newest of them first.
func (r *Reconciler) reviewsOf(ctx context.Context, w *Snapshot, provider Provider, found []pulls.Review) (all []review,
	err error) {
	spec, stacks := w.PullRequest.Spec, w.PullRequest.Status.Stacks
	slices.SortStableFunc(found, func(a, b pulls.Review) int { return b.At.Compare(a.At) })
	facts := command.Snapshot{}
	for _, of := range found {
		v := review{by: provider.User(of.Author), commit: of.Commit, at: of.At, may: map[string]bool{}}
		for _, s := range stacks {
			_, known := v.may[s.Namespace]
			if known || !isReviewable(s, spec.Head.Commit) || !v.isOf(s, spec.Author) {
				continue
			}
			if v.may[s.Namespace], err = r.mayApprove(ctx, provider, v.by, Key{Namespace: s.Namespace},
				w.Now); err != nil {
				return nil, err
			}
		}
		if len(v.may) == 0 || len(all) == maxReviews {
			continue
		}
		if facts.Authors == nil {
			if err := authorsOf(ctx, w, provider, &facts); err != nil {
				return nil, err
			}
		}
		v.author = facts.IsAuthor(v.by)
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b review) int {
		switch {
		case a.author == b.author:
			return 0
		case a.author:
			return 1
		}
		return -1
	})
	return all, nil
}

// show records since when the comment has the plans, after it was written at a time by the clock of the Git provider.
func show(s *v1alpha1.PullRequestStatus, at time.Time) {
	if at.IsZero() || s.Phase.Ended() {
		return
	}
	for i := range s.Stacks {
		stack := &s.Stacks[i]
		if stack.Phase != v1alpha1.PhaseSucceeded || !isComparable(*stack) {
			continue
		}
		shown := v1alpha1.PullRequestShown{Head: s.Head, Fingerprint: stack.Plan.Fingerprint, Since: wholeSecond(at)}
		if known := stack.Shown; known == nil || known.Head != shown.Head || known.Fingerprint != shown.Fingerprint {
			stack.Shown = &shown
		}
	}
}

// stillShown returns since when the comment has the plan of a Stack; nil if that is of another head, or does something
// else.
func stillShown(s v1alpha1.PullRequestStack, head string) *v1alpha1.PullRequestShown {
	known := s.Shown
	if known == nil || known.Head != head ||
		s.Phase.Finished() && (s.Plan == nil || s.Plan.Fingerprint != known.Fingerprint) {
		return nil
	}
	return known
}

// wholeSecond returns a time rounded up to the second, which a status has: what is newer than it is newer than the
// time.
func wholeSecond(at time.Time) metav1.Time {
	second := at.Truncate(time.Second)
	if second.Before(at) {
		second = second.Add(time.Second)
	}
	return metav1.Time{Time: second}
}
