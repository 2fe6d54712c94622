package pullrequest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// verbApply is the verb that /cairn apply and /cairn unlock require on the Stack.
const verbApply = "apply"

// appliesBefore reports whether comments can apply a pull request before its merge.
func (w *Snapshot) appliesBefore() bool {
	return w.Settings != nil && w.Settings.Apply == v1alpha1.ApplyBeforeMerge
}

// holds returns the index of what the status has about a Stack that the pull request is applied to; -1 for nothing.
func (w *Snapshot) holds(key Key) int {
	return slices.IndexFunc(w.PullRequest.Status.Holds, func(h v1alpha1.PullRequestHold) bool {
		return h.Namespace == key.Namespace && h.Name == key.Name
	})
}

// isHeld reports whether the pull request holds a Stack.
func (w *Snapshot) isHeld(key Key) bool {
	i := w.holds(key)
	return i >= 0 && w.PullRequest.Status.Holds[i].Released == ""
}

// holdsAny reports whether a pull request holds a Stack.
func holdsAny(s *v1alpha1.PullRequestStatus) bool {
	return slices.ContainsFunc(s.Holds, func(h v1alpha1.PullRequestHold) bool { return h.Released == "" })
}

// hold records which Stacks a command applies the pull request to. The commits are those of the plans that the user has
// read.
func (w *Snapshot) hold(d command.Decision, facts command.Snapshot) {
	status := &w.PullRequest.Status
	for _, result := range d.Stacks {
		if result.Reason != command.Allowed {
			continue
		}
		key := Key{result.Stack.Namespace, result.Stack.Name}
		next := v1alpha1.PullRequestHold{
			Head: result.Head, Base: w.Merge.Base, Branch: w.PullRequest.Spec.Base, By: facts.User,
			At: metav1.Time{Time: w.Now},
		}
		next.Namespace, next.Name, next.Phase = key.Namespace, key.Name, v1alpha1.StackApplyPending
		switch i := w.holds(key); {
		case i >= 0:
			status.Holds[i] = next
		case len(status.Holds) < maxApplies:
			status.Holds = append(status.Holds, next)
		}
	}
}

// unlock records that Stacks are not held any more.
func (w *Snapshot) unlock(d command.Decision) {
	for _, result := range d.Stacks {
		if i := w.holds(Key{result.Stack.Namespace, result.Stack.Name}); i >= 0 && result.Reason == command.Allowed {
			w.PullRequest.Status.Holds[i].Released = v1alpha1.HoldUnlocked
		}
	}
}

// gatherHolds reads what the Stacks did to which the pull request is applied, and whether the base has its merge.
func (r *Reconciler) gatherHolds(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository) error {
	spec, status := w.PullRequest.Spec, &w.PullRequest.Status
	if !holdsAny(status) {
		return nil
	}
	if spec.State == v1alpha1.PullRequestMerged && spec.MergeCommit != "" {
		merged, err := r.Merger.Merged(ctx, repo, spec.Base, spec.MergeCommit)
		if err != nil {
			return fmt.Errorf("find the merge in the base: %w", err)
		}
		has, known := merged.InBase()
		w.MergeInBase = has && known
	}
	w.Held = map[Key]AfterStack{}
	for _, h := range status.Holds {
		if h.Released != "" {
			continue
		}
		key := Key{h.Namespace, h.Name}
		stack, err := r.stackOf(ctx, key)
		if err != nil {
			return err
		}
		if stack == nil {
			continue
		}
		isApplied := func(_ context.Context, revision string) (bool, error) { return w.isOf(revision, h.Head), nil }
		s, err := r.revisionsOf(ctx, stack, isApplied)
		if err != nil {
			return fmt.Errorf("read what Stack %s did with the pull request: %w", key, err)
		}
		by := stack.Status.Hold
		s.Read = by != nil && by.UID == w.PullRequest.UID && by.Head == h.Head
		w.Held[key] = s
	}
	return nil
}

// isOf reports whether a revision is that of the merge of a head of the pull request, and not of a branch that has it.
func (w *Snapshot) isOf(revision, head string) bool {
	return strings.HasPrefix(revision, fmt.Sprintf("pull/%d@", w.PullRequest.Spec.Number)) &&
		runinfo.CommitOf(revision) == head
}

// nextHolds returns the holds with what the Stacks did, and why those ended that are not wanted any more. A merge
// releases a Stack once the base has it: before, the Stack would go back to the base without it.
func (w Snapshot) nextHolds() []v1alpha1.PullRequestHold {
	next := slices.Clone(w.PullRequest.Status.Holds)
	for i, h := range next {
		if h.Released != "" {
			continue
		}
		stack, exists := w.Held[Key{h.Namespace, h.Name}]
		next[i].PullRequestStackApply = heldStack(w.PullRequest, h, stack, exists)
		next[i].Deadline = w.deadlineOf(h)
		next[i].Released = w.endOf(next[i], stack, exists)
	}
	return next
}

// endOf returns why a hold is not wanted any more; empty while it is.
func (w Snapshot) endOf(h v1alpha1.PullRequestHold, stack AfterStack, exists bool) v1alpha1.HoldEnd {
	spec := w.PullRequest.Spec
	merged := spec.State == v1alpha1.PullRequestMerged
	// Without a commit it cannot be found in the base, and the Stack does not read another branch.
	elsewhere := spec.MergeCommit == "" || h.Branch != "" && h.Branch != spec.Base
	switch {
	case spec.State == v1alpha1.PullRequestClosed, !exists, merged && elsewhere:
		return v1alpha1.HoldClosed
	case merged && w.MergeInBase:
		return v1alpha1.HoldMerged
	case isPast(w.Now, h.Deadline) && !stack.isHeldBy(w.PullRequest): // which the Stack decides
		return v1alpha1.HoldExpired
	}
	return ""
}

// defaultHoldTimeout is spec.pullRequests.holdTimeout of a Repository that the API server did not default.
const defaultHoldTimeout = 72 * time.Hour

// deadlineOf returns when a hold ends, which is decided once for each command. One that is merged ends when the base is
// fetched.
func (w Snapshot) deadlineOf(h v1alpha1.PullRequestHold) *metav1.Time {
	switch {
	case w.PullRequest.Spec.State == v1alpha1.PullRequestMerged:
		return nil
	case h.Deadline != nil:
		return h.Deadline
	}
	timeout := defaultHoldTimeout
	if w.Settings != nil && w.Settings.HoldTimeout != nil {
		timeout = w.Settings.HoldTimeout.Duration
	}
	return &metav1.Time{Time: h.At.Add(timeout)}
}

func isPast(now time.Time, deadline *metav1.Time) bool {
	return deadline != nil && !now.Before(deadline.Time)
}

// isHeldBy reports whether the Stack has the code of a pull request.
func (s AfterStack) isHeldBy(pull *v1alpha1.PullRequest) bool {
	return s.Stack.Status.Hold != nil && s.Stack.Status.Hold.UID == pull.UID
}

// nextDeadline returns when the next hold ends that has not; 0 without one.
func (w Snapshot) nextDeadline(holds []v1alpha1.PullRequestHold) (again time.Duration) {
	for _, h := range holds {
		if h.Released == "" && h.Deadline != nil && !isPast(w.Now, h.Deadline) {
			again = sooner(again, h.Deadline.Sub(w.Now))
		}
	}
	return again
}

// gatherHolders reads which other pull requests hold the affected Stacks.
func (r *Reconciler) gatherHolders(ctx context.Context, w *Snapshot, repo *v1alpha1.Repository) error {
	if w.Merge == nil || len(w.Merge.Affected) == 0 {
		return nil
	}
	var stacks v1alpha1.StackList
	of := client.MatchingFields{repository.StackIndex: client.ObjectKeyFromObject(repo).String()}
	if err := r.Client.List(ctx, &stacks, of, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	w.Holders = map[Key]*v1alpha1.StackHold{}
	for i := range stacks.Items {
		s := &stacks.Items[i]
		if by := s.Status.Hold; by != nil && by.UID != w.PullRequest.UID {
			w.Holders[Key{s.Namespace, s.Name}] = by.DeepCopy()
		}
	}
	return nil
}

// heldStack returns what a Stack did with a pull request that is applied before its merge.
func heldStack(
	pull *v1alpha1.PullRequest, h v1alpha1.PullRequestHold, s AfterStack, exists bool,
) v1alpha1.PullRequestStackApply {
	row := v1alpha1.PullRequestStackApply{Namespace: h.Namespace, Name: h.Name, Phase: v1alpha1.StackApplyPending}
	switch {
	case !exists:
		row.Phase = v1alpha1.StackApplyDeleted
		return row
	case s.Stack.Status.Hold != nil && s.Stack.Status.Hold.UID != pull.UID:
		row.Phase, row.Reason = v1alpha1.StackApplyWaiting, v1alpha1.ReasonUpstreamHeld
		row.Message = s.Stack.Status.Hold.Text() + " is applied to it"
		return row
	}
	s.describe(&row, true)
	row.Approval = s.approvalOf(h.PullRequestStackApply, row)
	row.Message = runinfo.KeepIfEquivalent(h.Message, runinfo.Clip(row.Message, maxApplyMessage))
	return row
}

// holdsOf returns what is reported about the apply before the merge; nil for nothing.
func (w Snapshot) holdsOf(s *v1alpha1.PullRequestStatus, web string) (all []comment.Applied) {
	if s.Phase.Ended() {
		return nil
	}
	for _, h := range s.Holds {
		if h.Released != "" && h.Released != v1alpha1.HoldExpired { // of which users know
			continue
		}
		applied := comment.Applied{
			PullRequestStackApply: h.PullRequestStackApply, Deadline: h.Deadline, Expired: h.Released != "",
		}
		if h.Head != s.Head {
			applied.OlderHead = h.Head
		}
		if h.Run != "" && web != "" {
			applied.URL = web + "/runs/" + h.Namespace + "/" + h.Run
		}
		all = append(all, applied)
	}
	return all
}

// isAppliable reports whether comments can apply a plan of the pull request before its merge.
func (w *Snapshot) isAppliable(s *v1alpha1.PullRequestStatus) bool {
	spec := w.PullRequest.Spec
	return w.appliesBefore() && !spec.Draft && !spec.Fork && s.Phase == v1alpha1.PullRequestPlanned &&
		slices.ContainsFunc(s.Stacks, func(stack v1alpha1.PullRequestStack) bool {
			return stack.Plan != nil && stack.Plan.Changes && afterMergeOnly(stack) == ""
		})
}

// afterMergeOnly returns why a Stack cannot be applied before the merge; empty if it can.
func afterMergeOnly(s v1alpha1.PullRequestStack) string {
	switch {
	case s.New:
		return "it does not exist before the merge"
	case s.DeletedDirectory != "":
		return "its directory is deleted, and the merge destroys nothing"
	case s.OnMerge != nil && s.OnMerge.Stage != "":
		return "it has the release of the stage " + s.OnMerge.Stage
	}
	return ""
}
