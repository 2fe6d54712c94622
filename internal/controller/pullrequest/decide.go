package pullrequest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// maxSkipped is the maximum number of skipped Stacks in a status.
	maxSkipped = 1000
	// maxMessage is the maximum length of a message in a status, in bytes.
	maxMessage = 2000
)

// fetchFirst and fetchLongest bound the time until a pull request in progress is checked again. There may be no event
// when the head is fetched, when what a plan waits for exists, or for a Run that ends before the cache has it. In
// between, it is as long as the pull request has waited.
const fetchFirst, fetchLongest = 2 * time.Second, time.Minute

// Decision is what Decide returns.
type Decision struct {
	// Status is to be written before anything is created or sent. Its Runs are those of status.stacks: a Run that is
	// named there and does not exist is created, and all others of the PullRequest are canceled or deleted.
	Status v1alpha1.PullRequestStatus
	// Left are the pull requests whose head this one had: it may have replaced their statuses. They have to send them
	// again, which is to be written before the status, and they may not have been reconciled while it had their head.
	Left []*v1alpha1.PullRequest
	// Carried are the Runs for which an approval of the pull request counts. It is to be written to them.
	Carried []carried
	// Messages to the Git provider.
	Messages outbox.Plan[content]
	// Again is when to decide again; 0 for not before an event.
	Again time.Duration
}

// Decide returns what is next for a PullRequest. It is pure: no client, clock or log.
func Decide(w Snapshot) Decision {
	d := Decision{Status: w.status(), Again: w.ReadAgain, Carried: w.carried()}
	left := w.PullRequest.Status.Delivered.Head
	if left != d.Status.Head && !d.Status.Phase.Ended() {
		d.Left = atHead(w.Others, left)
	}
	wanted := w.messages(&d.Status)
	d.Messages = outbox.Due(w.Now, wanted, ledgerOf(d.Status.Delivered))
	setLedger(&d.Status.Delivered, d.Messages.Ledger)
	if next := d.Messages.Next; !next.IsZero() {
		d.Again = sooner(d.Again, next.Sub(w.Now))
	}
	ready := apimeta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case d.Status.Phase.Ended(): // what is next is an event
		d.Again = sooner(d.Again, w.readAgainAfter(d.Status.Apply))
	case ready.Status == metav1.ConditionUnknown:
		d.Again = sooner(d.Again, min(max(w.Now.Sub(ready.LastTransitionTime.Time), fetchFirst), fetchLongest))
	case needsUser(d.Status):
		d.Again = sooner(d.Again, fetchLongest)
	}
	d.Again = sooner(d.Again, w.nextDeadline(d.Status.Holds))
	d.Again = sooner(d.Again, w.mergeAgain(d.Status.AutomaticMerge))
	return d
}

// needsUser reports whether a plan needs a permission, a Secret, or an output for example, of which there is no event.
func needsUser(s v1alpha1.PullRequestStatus) bool {
	return slices.ContainsFunc(s.Stacks, func(stack v1alpha1.PullRequestStack) bool { return stack.Run == "" })
}

// acts are what was done about the Runs of a Decision.
type acts struct {
	// created are the UIDs of the Runs of Stacks, and rejected is why there is none.
	created  map[Key]types.UID
	rejected map[Key]error
	// err is all that failed.
	err error
}

// acknowledge returns a status that was persisted with what was done since.
func acknowledge(persisted v1alpha1.PullRequestStatus, runs acts, sent outbox.Sent) v1alpha1.PullRequestStatus {
	s := *persisted.DeepCopy()
	for i := range s.Stacks {
		stack := &s.Stacks[i]
		of := Key{stack.Namespace, stack.Name}
		stack.RunUID = cmp.Or(runs.created[of], stack.RunUID)
		if err := runs.rejected[of]; err != nil {
			stack.Message = messageOf(err, stack.Message)
		}
	}
	setLedger(&s.Delivered, sent.Ledger)
	switch {
	case sent.Err != nil:
		s.Delivered.Failure = messageOf(sent.Err, s.Delivered.Failure)
	case sent.Wait == 0:
		s.Delivered.Failure = ""
	}
	return s
}

// messageOf returns the message of an error for a status: the one before if it is equivalent.
func messageOf(err error, before string) string {
	return runinfo.KeepIfEquivalent(before, runinfo.Clip(err.Error(), maxMessage))
}

// sooner returns the shorter of two times of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// status returns the next status, without what is to be sent.
func (w Snapshot) status() v1alpha1.PullRequestStatus {
	next := *w.PullRequest.Status.DeepCopy()
	next.ObservedGeneration = w.PullRequest.Generation
	if head := w.PullRequest.Spec.Head.Commit; next.Head != head {
		next.Head, next.HeadSince = head, w.PullRequest.Spec.UpdatedAt
		next.Commands.Answer = "" // it was about another head
	}
	phase, message := w.phase()
	next.Phase = phase
	if w.Merge != nil {
		next.Merge = w.Merge.DeepCopy()
	}
	// the lists of the merge before stay
	if phase != v1alpha1.PullRequestMerging && phase != v1alpha1.PullRequestEnded {
		next.StackSets, next.MoreStackSets, next.Unplanned = nil, 0, nil
		next.Dependents, next.MoreDependents = nil, 0
	}
	if next.Apply = w.applyOf(); w.After != nil {
		next.Apply = w.After.next(next.Apply, w.Now)
	}
	next.Holds = w.nextHolds()
	if phase != v1alpha1.PullRequestEnded {
		next.EndedAt = nil
	} else if next.EndedAt == nil {
		next.EndedAt = &metav1.Time{Time: w.Now}
	}
	switch phase {
	case v1alpha1.PullRequestPlanned:
		listStackSets(&next, w.Merge.StackSets)
		next.Unplanned = w.Merge.Unplanned
		w.stacks(&next)
	case v1alpha1.PullRequestAwaitingCommand:
		listStackSets(&next, w.Merge.StackSets)
		next.Unplanned = w.Merge.Unplanned
		next.Stacks, next.Skipped = nil, nil
		for _, a := range w.Merge.Affected {
			if len(next.Stacks) < int(*w.Settings.MaxStacks) {
				next.Stacks = append(next.Stacks, v1alpha1.PullRequestStack{Namespace: a.Namespace, Name: a.Name,
					DeletedDirectory: a.DeletedDirectory, New: a.New})
			} else if len(next.Skipped) < maxSkipped {
				next.Skipped = append(next.Skipped, a.String())
			}
		}
		w.setOnMerge(next.Stacks)
	case v1alpha1.PullRequestMerging: // the plans of the merge before stay until the affected Stacks are known
		next.Stacks = w.observed(w.PullRequest.Status.Stacks)
	case v1alpha1.PullRequestEnded: // the plans stay readable, and those in progress end
		next.Stacks = slices.DeleteFunc(w.observed(w.PullRequest.Status.Stacks),
			func(s v1alpha1.PullRequestStack) bool {
				return !s.Phase.Finished()
			})
		if next.Apply != nil && w.PullRequest.Spec.MergeCommit != "" {
			next.Phase, message = applyPhase(next.Apply)
		}
	default:
		next.Stacks, next.Skipped = nil, nil
	}
	w.setReady(&next, message)
	next.AutomaticMerge = w.nextMerge(&next)
	return next
}

// phase returns the phase, and the message of phases that have one of their own.
func (w Snapshot) phase() (v1alpha1.PullRequestPhase, string) {
	spec := w.PullRequest.Spec
	switch {
	case w.Settings == nil || spec.State != v1alpha1.PullRequestOpen:
		return v1alpha1.PullRequestEnded, "the pull request is " + strings.ToLower(string(spec.State))
	case spec.Draft && w.Settings.Drafts == v1alpha1.DraftsSkip:
		return v1alpha1.PullRequestDraft, "the pull request is a draft, and spec.pullRequests.drafts of the " +
			"Repository is Skip"
	case w.Problem != "":
		return v1alpha1.PullRequestFailed, w.Problem
	case w.Merge == nil:
		return v1alpha1.PullRequestMerging, w.Waits
	case len(w.Merge.Conflicts) > 0:
		return v1alpha1.PullRequestConflict, "the head conflicts with the base in " +
			strings.Join(w.Merge.Conflicts[:min(3, len(w.Merge.Conflicts))], ", ")
	case len(w.Merge.Affected) > 0 && !slices.ContainsFunc(w.Merge.Affected, func(a Affected) bool {
		return a.Restricted == ""
	}):
		return v1alpha1.PullRequestAwaitingCommand,
			fmt.Sprintf("%s: a user with the verb plan on the affected Stacks has to read the code "+
				"and comment /cairn plan %s", w.Restricted, spec.Head.Commit)
	}
	return v1alpha1.PullRequestPlanned, ""
}

// stacks sets the Stacks that are planned, each with its Run, and those that are skipped.
func (w Snapshot) stacks(next *v1alpha1.PullRequestStatus) {
	requested := next.Commands.Requested
	next.Stacks, next.Skipped = nil, nil
	for n, a := range w.Merge.Affected {
		if n < int(*w.Settings.MaxStacks) || slices.Contains(requested, a.String()) {
			next.Stacks = append(next.Stacks, w.planOf(a, next))
		} else if len(next.Skipped) < maxSkipped {
			next.Skipped = append(next.Skipped, a.String())
		}
	}
	next.Stacks = w.observed(next.Stacks)
	w.resolveMissing(next.Stacks)
	w.setOnMerge(next.Stacks)
	w.setDependents(next)
	for i, s := range next.Stacks {
		next.Stacks[i].Approval, next.Stacks[i].Shown = standing(s, next.Head), stillShown(s, next.Head)
	}
}

// planOf returns the entry of a Stack: the one that it has while its inputs are the same, else one with another Run.
func (w Snapshot) planOf(a Affected, next *v1alpha1.PullRequestStatus) v1alpha1.PullRequestStack {
	planned := v1alpha1.PullRequestStack{
		Namespace: a.Namespace, Name: a.Name, InputsDigest: a.InputsDigest, Backend: a.Backend,
		DeletedDirectory: a.DeletedDirectory, New: a.New,
	}
	if a.Restricted != "" {
		planned.AwaitsCommand = true
		planned.Message = runinfo.Clip(fmt.Sprintf("%s: a user with the verb plan on this Stack has to read the code "+
			"and comment /cairn plan %s",
			a.Restricted, w.PullRequest.Spec.Head.Commit), maxMessage)
		if i := w.stack(a.Key); i >= 0 {
			planned.Retries = w.PullRequest.Status.Stacks[i].Retries
		}
		return planned
	}
	if i := w.stack(a.Key); i >= 0 {
		known := w.PullRequest.Status.Stacks[i]
		if known.Run != "" && known.InputsDigest == a.InputsDigest && known.DeletedDirectory == a.DeletedDirectory &&
			known.New == a.New {
			return known
		}
		planned.Retries, planned.Approval, planned.Shown = known.Retries, known.Approval, known.Shown
	}
	if a.InputsDigest == "" && (a.New || a.Empty) {
		planned.Message = runinfo.Clip(a.Problem, maxMessage)
		return planned
	}
	if a.InputsDigest == "" {
		planned.Phase, planned.Message = v1alpha1.PhaseFailed, runinfo.Clip(a.Problem, maxMessage)
		if a.Waits {
			planned.Phase = v1alpha1.PhaseQueued
		}
		return planned
	}
	next.Plans++
	planned.PlanNumber, planned.Phase = next.Plans, v1alpha1.PhaseQueued
	planned.Run = runName(w.PullRequest, planned)
	return planned
}

// observed returns Stacks with what their Runs report. The result of a finished Run stays.
func (w Snapshot) observed(stacks []v1alpha1.PullRequestStack) []v1alpha1.PullRequestStack {
	stacks = slices.Clone(stacks)
	for i, s := range stacks {
		run := w.Runs[Key{s.Namespace, s.Run}]
		if s.Phase.Finished() || run == nil {
			continue
		}
		stacks[i].RunUID, stacks[i].Phase, stacks[i].Message = run.UID, run.Status.Phase, ""
		if run.Status.Phase == "" {
			stacks[i].Phase = v1alpha1.PhaseQueued
		}
		if plan := run.Status.Plan; plan != nil && run.Status.Phase.Finished() {
			lean := *plan.DeepCopy()
			lean.Resources = nil
			lean.Outputs, lean.MoreOutputs = listOutputs(plan)
			if lean.Policy != nil {
				lean.Policy.Findings = first(lean.Policy.Findings)
			}
			stacks[i].Plan, stacks[i].UnappliedRun = &lean, ""
			if lean.Changes {
				stacks[i].UnappliedRun = w.Unapplied[Key{s.Namespace, s.Name}]
			}
		}
		if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil &&
			run.Status.Phase != v1alpha1.PhaseSucceeded {
			stacks[i].Message = runinfo.Clip(c.Message, maxMessage)
		}
	}
	return stacks
}

// first returns the first findings, which are those that deny the plan, with messages of a length that a status with
// many Stacks can have.
func first(findings []v1alpha1.PolicyFinding) []v1alpha1.PolicyFinding {
	const most, longest = 5, 300
	findings = slices.Clone(findings[:min(most, len(findings))])
	for i := range findings {
		findings[i].Message = runinfo.Clip(findings[i].Message, longest)
	}
	return findings
}

// setReady sets the Ready condition.
func (w Snapshot) setReady(next *v1alpha1.PullRequestStatus, message string) {
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: message,
		ObservedGeneration: w.PullRequest.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
	switch next.Phase {
	case v1alpha1.PullRequestMerging:
		ready.Status, ready.Reason = metav1.ConditionUnknown, v1alpha1.ReasonMerging
	case v1alpha1.PullRequestConflict:
		ready.Reason = v1alpha1.ReasonMergeConflict
	case v1alpha1.PullRequestFailed:
		ready.Reason = v1alpha1.ReasonMergeFailed
	case v1alpha1.PullRequestDraft:
		ready.Reason = v1alpha1.ReasonDraft
	case v1alpha1.PullRequestAwaitingCommand:
		ready.Reason = v1alpha1.ReasonAwaitingCommand
	case v1alpha1.PullRequestApplying:
		ready.Status, ready.Reason = metav1.ConditionUnknown, string(v1alpha1.PhaseApplying)
	case v1alpha1.PullRequestApplied:
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonApplied
	case v1alpha1.PullRequestApplyFailed:
		ready.Reason = v1alpha1.ReasonApplyFailed
	case v1alpha1.PullRequestEnded:
		ready.Reason = v1alpha1.ReasonClosed
	case v1alpha1.PullRequestPlanned:
		ready.Status, ready.Reason, ready.Message = planned(next)
		if ready.Reason == v1alpha1.ReasonNotAffected && w.Merge.Unread {
			ready.Reason, ready.Message = v1alpha1.ReasonBaseNotRead, "no Stack reads branch "+w.PullRequest.Spec.Base
		}
	}
	apimeta.SetStatusCondition(&next.Conditions, ready)
}

// planned summarizes the plans.
func planned(s *v1alpha1.PullRequestStatus) (metav1.ConditionStatus, string, string) {
	var pending, failed, stopping, waiting int
	all := len(s.Stacks)
	for _, stack := range s.Stacks {
		if stack.AwaitsCommand {
			waiting++
			continue
		}
		if stack.DeletedDirectory != "" && stack.OnMerge != nil && stack.OnMerge.Action == v1alpha1.StackMergeStop {
			stopping++
		}
		switch {
		case isUnplanned(stack):
			all--
		case !stack.Phase.Finished():
			pending++
		case stack.Phase != v1alpha1.PhaseSucceeded:
			failed++
		}
	}
	fails, effects := len(s.StackSets) > 0 && s.StackSets[0].Reason != "", runinfo.Effects(s.StackSets...)
	if effects != "" {
		effects = "; " + effects
	}
	if stopping > 0 {
		stops := "1 Stack stops, since its directory is"
		if stopping > 1 {
			stops = fmt.Sprintf("%d Stacks stop, since their directories are", stopping)
		}
		effects = "; " + stops + " deleted: the merge destroys nothing" + effects
	}
	later := runinfo.Dependents(s.Stacks, s.Dependents, s.MoreDependents)
	if later != "" {
		effects += "; " + later
	}
	unplanned := runinfo.Unplanned(s.Unplanned)
	if unplanned != "" {
		effects += "; not planned: " + unplanned
	}
	switch {
	case all+len(s.Skipped) == 0 && !fails && (stopping > 0 || later != ""):
		return metav1.ConditionTrue, v1alpha1.ReasonPullRequestPlanned, strings.TrimPrefix(effects, "; ")
	case all+len(s.Skipped) == 0 && !fails && unplanned != "":
		return metav1.ConditionTrue, v1alpha1.ReasonChangesNotPlanned, "no Stack is affected" + effects
	case all+len(s.Skipped) == 0 && !fails:
		return metav1.ConditionTrue, v1alpha1.ReasonNotAffected, "no Stack is affected" + effects
	case pending > 0:
		return metav1.ConditionUnknown, v1alpha1.ReasonPullRequestPlanning,
			fmt.Sprintf("%d of %d plans are in progress", pending, all)
	case waiting > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonAwaitingCommand,
			fmt.Sprintf("%d of %d affected Stacks await a comment /cairn plan", waiting,
				all)
	case failed > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonPullRequestPlanFailed,
			fmt.Sprintf("%d of %d plans failed", failed, all)
	case fails:
		set := s.StackSets[0]
		return metav1.ConditionFalse, v1alpha1.ReasonStackSetFailed,
			runinfo.Clip(fmt.Sprintf("StackSet %s/%s after the merge: %s: %s",
				set.Namespace, set.Name, set.Reason, set.Message), maxMessage)
	case len(s.Skipped) == 0 && all == 1:
		return metav1.ConditionTrue, v1alpha1.ReasonPullRequestPlanned, "1 Stack is planned" + effects
	case len(s.Skipped) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonPullRequestPlanFailed,
			fmt.Sprintf("%d affected Stacks are not planned, because of "+
				"spec.pullRequests.maxStacks of the Repository", len(s.Skipped))
	}
	return metav1.ConditionTrue, v1alpha1.ReasonPullRequestPlanned, fmt.Sprintf("%d Stacks are planned", all) + effects
}
