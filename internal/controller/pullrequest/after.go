package pullrequest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// maxApplies is the maximum number of Stacks whose apply is reported.
	maxApplies = 500
	// maxApplyMessage is the maximum length of the message of each, in bytes.
	maxApplyMessage = 300
)

// readWithin is the time that the reconcile of a Stack may take after its Repository was fetched. Until then, an error
// that the Stack reports may be about the code before the merge, which the merge corrects.
const readWithin = time.Minute

// After are the facts about what the affected Stacks did with a merge.
type After struct {
	// InBase reports whether the base has the merge commit. Known is false while that is not known.
	InBase, Known bool
	// Stacks are those of status.apply that exist.
	Stacks map[Key]AfterStack
}

// AfterStack is a Stack after a merge.
type AfterStack struct {
	Stack *v1alpha1.Stack
	// Run is the Run in progress, else the last one. Nil if it succeeded, or if there is none.
	Run *v1alpha1.Run
	// Merged are the revisions of the Stack, the Run and the history that have the merge commit.
	Merged map[string]bool
	// Same reports that the code at the revision of the Stack is that of the base, which has the merge.
	Same bool
	// Read reports that the last reconcile of the Stack read what the base has now.
	Read bool
	// Carried are the facts about an approval that the pull request has for the Run; nil if there is none.
	Carried *approval.Carried
}

// affectedStacks returns the Stacks that a pull request affected before it was merged; nil if there are none.
func affectedStacks(s *v1alpha1.PullRequestStatus) *v1alpha1.PullRequestApply {
	var keys []Key
	for _, stack := range s.Stacks {
		if stack.New { // its StackSet creates it at some time, or does not
			continue
		}
		keys = append(keys, Key{stack.Namespace, stack.Name})
	}
	for _, skipped := range s.Skipped {
		namespace, name, _ := strings.Cut(skipped, "/")
		keys = append(keys, Key{namespace, name})
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	apply := &v1alpha1.PullRequestApply{MoreStacks: int32(max(0, len(keys)-maxApplies))}
	for _, key := range keys[:min(len(keys), maxApplies)] {
		apply.Stacks = append(apply.Stacks, v1alpha1.PullRequestStackApply{
			Namespace: key.Namespace, Name: key.Name, Phase: v1alpha1.StackApplyPending,
		})
	}
	return apply
}

// isFinal reports whether a later event does not change a phase.
func isFinal(p v1alpha1.StackApplyPhase) bool {
	return p == v1alpha1.StackApplyApplied || p == v1alpha1.StackApplyDeleted
}

// next returns what the affected Stacks did with the merge. What is final stays, and so does all while it is not known
// whether the base has the merge.
func (a After) next(known *v1alpha1.PullRequestApply, now time.Time) *v1alpha1.PullRequestApply {
	next := known.DeepCopy()
	if a.Known && a.InBase && next.FetchedAt == nil {
		next.FetchedAt = &metav1.Time{Time: now}
	}
	for i, before := range next.Stacks {
		if isFinal(before.Phase) {
			continue
		}
		of := Key{before.Namespace, before.Name}
		row := v1alpha1.PullRequestStackApply{Namespace: of.Namespace, Name: of.Name, Phase: v1alpha1.StackApplyPending}
		stack, exists := a.Stacks[of]
		switch {
		case !exists:
			row.Phase = v1alpha1.StackApplyDeleted
		case !a.Known:
			continue
		case a.InBase:
			stack.describe(&row, now.Sub(next.FetchedAt.Time) >= readWithin)
			row.Approval = stack.approvalOf(before, row)
		case next.FetchedAt != nil:
			row.Phase = v1alpha1.StackApplySuperseded
		}
		row.Message = runinfo.KeepIfEquivalent(before.Message, runinfo.Clip(row.Message, maxApplyMessage))
		next.Stacks[i] = row
	}
	return next
}

// readAgainAfter returns when an error that a Stack reports counts as one of the merge; 0 if no Stack may have one.
func (w Snapshot) readAgainAfter(apply *v1alpha1.PullRequestApply) time.Duration {
	isPending := func(s v1alpha1.PullRequestStackApply) bool { return s.Phase == v1alpha1.StackApplyPending }
	if apply == nil || apply.FetchedAt == nil || !slices.ContainsFunc(apply.Stacks, isPending) {
		return 0
	}
	return max(0, readWithin-w.Now.Sub(apply.FetchedAt.Time))
}

// describe sets what a Stack did with a merge that the base has. settled reports whether the Stack had the time to read
// it.
func (s AfterStack) describe(row *v1alpha1.PullRequestStackApply, settled bool) {
	status := s.Stack.Status
	for _, past := range slices.Backward(status.History) {
		d := past.Details
		if past.Operation != v1alpha1.OperationApply || d == nil || !s.Merged[d.Revision] {
			continue
		}
		unchanged := d.Plan != nil && !d.Plan.Changes
		if past.Applied || unchanged {
			row.Phase, row.Reason = v1alpha1.StackApplyApplied, v1alpha1.ReasonApplied
			row.Run, row.Plan = past.Name, withCounts(d.Plan)
			if unchanged {
				row.Reason = v1alpha1.ReasonNoChanges
			}
			return
		}
	}
	hasMerge := s.Merged[status.Revision] || s.Same
	if hasMerge && status.AppliedInputsDigest != "" && status.AppliedInputsDigest == status.InputsDigest {
		row.Phase, row.Reason = v1alpha1.StackApplyApplied, v1alpha1.ReasonNoChanges
		if s.Merged[status.Revision] {
			row.Reason = v1alpha1.ReasonApplied
		}
		return
	}
	if run := s.Run; run != nil && run.Spec.Operation == v1alpha1.OperationApply &&
		(s.Merged[run.Spec.Revision] || hasMerge && run.Spec.InputsDigest == status.InputsDigest) {
		describeRun(row, run)
		return
	}
	if !hasMerge && !s.Read {
		return
	}
	if !hasMerge && status.Release != nil {
		row.Phase, row.Reason = v1alpha1.StackApplyWaiting, v1alpha1.ReasonAwaitingRelease
		row.Message = "it is applied when " + status.Release.Text() + " gets the merge"
		return
	}
	ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue || !hasMerge && !settled {
		return
	}
	switch row.Phase = phaseOf(ready.Reason, hasMerge); row.Phase {
	case v1alpha1.StackApplyPending, v1alpha1.StackApplyApplying: // progress is not worth a request to the Git provider
	default:
		row.Reason, row.Message = ready.Reason, ready.Message
	}
}

// describeRun sets what a Run with the merge did, or waits for.
func describeRun(row *v1alpha1.PullRequestStackApply, run *v1alpha1.Run) {
	row.Run, row.Plan = run.Name, withCounts(run.Status.Plan)
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		row.Reason, row.Message = c.Reason, c.Message
	}
	switch run.Status.Phase {
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCanceled:
		row.Phase = v1alpha1.StackApplyFailed
		return
	case v1alpha1.PhaseSucceeded, v1alpha1.PhaseSuperseded: // the Stack reports what is next
		row.Phase, row.Reason, row.Message = v1alpha1.StackApplyApplying, "", ""
		return
	}
	reason, _ := v1alpha1.ReasonNamed(row.Reason)
	switch {
	case reason.WaitsFor == v1alpha1.WaitsForApproval:
		row.Phase = v1alpha1.StackApplyAwaitingApproval
	case reason.WaitsFor == v1alpha1.WaitsForWindow, reason.WaitsFor == v1alpha1.WaitsForResume,
		reason.WaitsFor == v1alpha1.WaitsForRequirements, reason.Severity == v1alpha1.SeverityError:
		row.Phase = v1alpha1.StackApplyWaiting
		if reason.WaitsFor == v1alpha1.WaitsForWindow {
			row.OpensAt = run.Status.WindowOpensAt
		}
	default:
		row.Phase, row.Reason, row.Message = v1alpha1.StackApplyApplying, "", ""
	}
}

// phaseOf returns what the reason of a Stack that is not Ready means for the merge. hasMerge reports that the Stack has
// read it; otherwise only what prevents that it is read counts, and not how earlier Runs ended.
func phaseOf(reason string, hasMerge bool) v1alpha1.StackApplyPhase {
	known, _ := v1alpha1.ReasonNamed(reason)
	var endOfRun, needsUser bool
	switch reason {
	case v1alpha1.ReasonRunFailed, v1alpha1.ReasonRunCanceled, v1alpha1.ReasonRunRejected:
		endOfRun = true
	}
	switch known.WaitsFor {
	case v1alpha1.WaitsForDecision, v1alpha1.WaitsForResume, v1alpha1.WaitsForWindow, v1alpha1.WaitsForApproval,
		v1alpha1.WaitsForRequirements:
		needsUser = true
	}
	ofRun := known.In&v1alpha1.InRun != 0 && reason != v1alpha1.ReasonSuspended
	switch {
	case endOfRun && hasMerge:
		return v1alpha1.StackApplyFailed
	case endOfRun, reason == v1alpha1.ReasonDrifted, !hasMerge && ofRun:
		return v1alpha1.StackApplyPending
	case known.Severity == v1alpha1.SeverityError, reason == v1alpha1.ReasonDestroyed:
		return v1alpha1.StackApplyStopped
	case known.Severity == v1alpha1.SeverityWarning, needsUser:
		return v1alpha1.StackApplyWaiting
	case hasMerge:
		return v1alpha1.StackApplyApplying
	}
	return v1alpha1.StackApplyPending
}

// withCounts returns the numbers of changes of a plan.
func withCounts(p *v1alpha1.Plan) *v1alpha1.Plan {
	if p == nil {
		return nil
	}
	return &v1alpha1.Plan{
		Digest: p.Digest, Changes: p.Changes, StateOnly: p.StateOnly, Add: p.Add, Change: p.Change, Destroy: p.Destroy,
		Replace: p.Replace, Import: p.Import, Forget: p.Forget, Invoke: p.Invoke, Refresh: p.Refresh,
	}
}

// applyPhase returns the phase of a merged pull request, and what it is about.
func applyPhase(a *v1alpha1.PullRequestApply) (v1alpha1.PullRequestPhase, string) {
	n := map[v1alpha1.StackApplyPhase]int{}
	for _, s := range a.Stacks {
		n[s.Phase]++
	}
	applied, deleted := n[v1alpha1.StackApplyApplied], n[v1alpha1.StackApplyDeleted]
	failed := n[v1alpha1.StackApplyFailed] + n[v1alpha1.StackApplyStopped] + n[v1alpha1.StackApplySuperseded]
	message := fmt.Sprintf("%d of %d affected Stacks applied the merge", applied, len(a.Stacks))
	if deleted > 0 {
		message += fmt.Sprintf("; %d deleted", deleted)
	}
	if waiting := n[v1alpha1.StackApplyAwaitingApproval]; waiting > 0 {
		message += fmt.Sprintf("; %d awaiting an approval", waiting)
	}
	switch {
	case failed > 0:
		return v1alpha1.PullRequestApplyFailed, message + fmt.Sprintf("; %d failed or stopped", failed)
	case applied+deleted < len(a.Stacks):
		return v1alpha1.PullRequestApplying, message
	}
	return v1alpha1.PullRequestApplied, message
}
