// Package comment renders the comment and the statuses of a pull request. It is pure: a PullRequest in, text out; no
// client, no clock and no log.
//
// Text from a pull request, from code and from plans is hostile. It is written as code only, in spans and blocks that
// it cannot end, because Git providers evaluate no Markdown, HTML, link, mention, reference or quick action there.
package comment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// PullRequest is what Cairn reports about a pull request.
type PullRequest struct {
	ID ID
	// Head is the head commit; Base is the branch that it is merged into.
	Head, Base string
	// URL of the pull request in the web UI; empty for none.
	URL string
	// Phase of the pull request. Another one than these of an open pull request is Merging.
	Phase v1alpha1.PullRequestPhase
	// Message explains the phases Failed, Conflict and AwaitingCommand, for example the paths with conflicts.
	Message string
	// Answer is the result of the last command, as text for the user who wrote it; empty for none.
	Answer string
	// Plans is the digest of the plans with which a comment can approve them; empty if none can be approved.
	Plans string `json:",omitempty"`
	// Apply is the digest of the plans with which a comment can apply them before the merge; empty if none can be
	// applied.
	Apply string `json:",omitempty"`
	// Requirements are those of an apply before the merge.
	Requirements []v1alpha1.PullRequestRequirement `json:",omitempty"`
	// Held are the Stacks to which the pull request is applied before the merge.
	Held []Applied `json:",omitempty"`
	// Merge is the automatic merge after the apply; nil if Cairn does not merge.
	Merge *AutomaticMerge `json:",omitempty"`
	// Reviews reports that a review at the Git provider approves plans.
	Reviews bool `json:",omitempty"`
	// Stacks are the affected Stacks that Cairn plans, or would plan, in any order.
	Stacks []Stack
	// Skipped are affected Stacks beyond MaxStacks (spec.pullRequests.maxStacks) that no command has requested, as
	// namespace/name.
	Skipped   []string
	MaxStacks int
	// Unread: no Stack reads the base, so that a merge into it changes none.
	Unread bool `json:",omitempty"`
	// StackSets are those whose lists of Stacks the merge changes, those with an error first, and MoreStackSets is the
	// number of others. Without any, the digest of a comment is that of earlier versions, so that it is not sent again.
	StackSets     []v1alpha1.PullRequestStackSet `json:",omitempty"`
	MoreStackSets int                            `json:",omitempty"`
	// Unplanned is what the merge changes and no plan shows; nil for nothing.
	Unplanned *v1alpha1.PullRequestUnplanned `json:",omitempty"`
	// Dependents are other Stacks that the merge changes through outputs, MoreDependents is the number of those that
	// are not named, and Later summarizes what is planned after the merge; empty for nothing.
	Dependents     []v1alpha1.PullRequestDependent `json:",omitempty"`
	MoreDependents int                             `json:",omitempty"`
	Later          string                          `json:",omitempty"`
	// After is what the affected Stacks did with the merge; nil before that.
	After *After `json:",omitempty"`
}

// ID identifies a pull request.
type ID struct {
	// Installation is the name of the installation; Repository is the UID of the Repository.
	Installation, Repository string
	Number                   int64
	// Result: it is the second comment, with the result of the apply.
	Result bool `json:",omitempty"`
}

// Stack is an affected Stack.
type Stack struct {
	Namespace, Name string
	// URL of its Run in the web UI; empty for none.
	URL string
	// Phase of its Run; empty before there is one.
	Phase v1alpha1.RunPhase
	// Plan of its Run, with the results of policies; nil before there is one.
	Plan *v1alpha1.Plan
	// Text is the masked plan, as internal/engine/plan writes it.
	Text string
	// Failure is the message of a Run that failed.
	Failure string
	// Backend is the type of the engine's backend that has the state, if Cairn does not keep it.
	Backend string
	// DeletedDirectory is the path of the Stack if the pull request deletes it. The plan is then what a destroy would
	// do.
	DeletedDirectory string
	// New: a StackSet would create the Stack after the merge, and the plan is with an empty state. Without a plan,
	// Failure is why there is none, which fails nothing.
	New bool `json:",omitempty"`
	// AwaitsCommand: it is not planned before a command names the head; Failure is why.
	AwaitsCommand bool `json:",omitempty"`
	// Deferred: it reads an output that another Stack of the pull request adds, so it is planned after the merge;
	// Failure is after which one. It fails nothing.
	Deferred bool `json:",omitempty"`
	// UnappliedRun is the Run with changes of the base that were not applied when the plan ended; empty if there was
	// none.
	UnappliedRun string `json:",omitempty"`
	// OnMerge is what the Stack does when the pull request is merged; nil if that is not known, or of no interest any
	// more.
	OnMerge *v1alpha1.StackOnMerge `json:",omitempty"`
	// Approval describes the approval of the plan by a comment; empty for none.
	Approval string `json:",omitempty"`
}

func (s Stack) key() string { return s.Namespace + "/" + s.Name }

// State is the state of a status.
type State string

// The states of a status.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
)

// isUnplanned reports that a Stack has no plan and needs none: it is deferred, it does not exist and cannot be planned,
// or its directory is deleted and it was never applied. One that waits for a command can be planned.
func (s Stack) isUnplanned() bool {
	return s.Deferred || (s.New || s.DeletedDirectory != "") && !s.AwaitsCommand && s.Phase == "" && s.Failure != ""
}

// result returns the state of a Stack's plan, and why it is not a success.
func (s Stack) result() (state State, why string) {
	switch {
	case s.AwaitsCommand:
		return Pending, "a user with the verb plan on this Stack has to comment /cairn plan and the head"
	case s.isUnplanned():
		return Success, ""
	}
	switch s.Phase {
	case v1alpha1.PhaseCanceled, v1alpha1.PhaseSuperseded:
		return Failure, "not planned: the Run was " + strings.ToLower(string(s.Phase))
	case v1alpha1.PhaseFailed, v1alpha1.PhaseSucceeded, v1alpha1.PhaseAwaitingApproval:
		switch {
		case s.Plan != nil && s.Plan.Policy != nil && s.Plan.Policy.Denied > 0:
			return Failure, "denied by " + count(int(s.Plan.Policy.Denied), "policy finding", "policy findings")
		case s.Phase == v1alpha1.PhaseFailed:
			return Failure, "the plan failed"
		case s.Plan == nil:
			return Failure, "the Run has no plan"
		}
		return Success, ""
	}
	return Pending, "not planned yet" // without the phase, whose changes would each be a request to the Git provider
}

// changes summarizes the plan as the rest of Cairn does; empty without one.
func (s Stack) changes() string {
	switch {
	case s.Deferred:
		return ""
	case s.isUnplanned() && s.New:
		return "new, not planned"
	case s.isUnplanned():
		return "nothing to destroy (directory deleted)"
	}
	if s.Plan == nil {
		return ""
	}
	p := *s.Plan
	p.Policy = nil
	text := runinfo.Summary(&p)
	if s.DeletedDirectory != "" {
		text = "if it is deleted: " + text + " (directory deleted)"
	}
	if s.New {
		text += " (new)"
	}
	if s.UnappliedRun != "" {
		text += " (includes changes of the base that are not applied)"
	}
	return text
}

// stops reports whether the directory of the Stack is deleted and no StackSet lets it read another one.
func (s Stack) stops() bool {
	return s.DeletedDirectory != "" && (s.OnMerge == nil || s.OnMerge.Action == v1alpha1.StackMergeStop)
}

// onMerge describes what the Stack does when the pull request is merged.
func (s Stack) onMerge() string {
	if s.Deferred {
		return cell(shorten.Characters(s.Failure, longestReason))
	}
	if s.OnMerge == nil {
		return ""
	}
	text := s.OnMerge.Action.Text()
	text = strings.ToUpper(text[:1]) + text[1:]
	if first, _, _ := strings.Cut(s.OnMerge.Message, "\n"); first != "" {
		text += ": " + cell(shorten.Characters(first, longestReason))
	}
	return text
}

// policies summarizes the results of policies.
func (s Stack) policies() string {
	if s.Plan == nil || s.Plan.Policy == nil || s.Plan.Policy.Checked == 0 {
		return ""
	}
	p, all := s.Plan.Policy, []string(nil)
	note := func(n int32, one, many string) {
		if n > 0 {
			all = append(all, count(int(n), one, many))
		}
	}
	note(p.Denied, "denial", "denials")
	note(p.ApprovalRequired, "approval required", "approvals required")
	note(p.Warned, "warning", "warnings")
	return cmp.Or(strings.Join(all, ", "), "passed")
}

// aggregate returns the state of the pull request and a sentence about it. The sentence has no text from outside.
func (pr PullRequest) aggregate() (State, string) {
	if pr.After != nil {
		return pr.After.aggregate()
	}
	switch pr.Phase {
	case v1alpha1.PullRequestConflict:
		return Failure, "Nothing is planned: the head conflicts with the base."
	case v1alpha1.PullRequestFailed:
		return Failure, "Nothing is planned: Cairn cannot compute the merge."
	case v1alpha1.PullRequestDraft:
		// No success: a draft that is marked as ready can be merged before Cairn detects that.
		return Pending, "Nothing is planned: the pull request is a draft."
	case v1alpha1.PullRequestAwaitingCommand:
		return Pending, "Nothing is planned: a user with the verb plan has to comment /cairn plan and the head."
	case v1alpha1.PullRequestPlanned:
		return pr.planned()
	}
	return Pending, "Cairn computes the merge and the affected Stacks."
}

func (pr PullRequest) planned() (State, string) {
	var pending, failed, waiting, stopping, moving int
	var sum v1alpha1.Plan
	n := len(pr.Stacks)
	for _, s := range pr.Stacks {
		switch {
		case s.AwaitsCommand:
			waiting++
		case s.Deferred, s.isUnplanned() && s.New:
			n--
			continue
		}
		switch state, _ := s.result(); state {
		case Pending:
			pending++
		case Failure:
			failed++
		default:
			switch { // the merge does not do what the plan of a destruction shows
			case s.stops():
				stopping++
			case s.DeletedDirectory != "":
				moving++
			default:
				runinfo.Add(&sum, s.Plan)
			}
		}
	}
	all := count(n, "Stack", "Stacks")
	failing := 0
	for _, s := range pr.StackSets {
		if s.Reason != "" {
			failing++
		}
	}
	effects := runinfo.Effects(pr.StackSets...)
	if effects != "" {
		effects = " " + effects + "."
	}
	if moving > 0 {
		effects = " " + count(moving, "Stack reads", "Stacks read") + " another directory after the merge." + effects
	}
	if stopping > 0 {
		effects = " " + count(stopping, "Stack stops, since its directory is",
			"Stacks stop, since their directories are") +
			" deleted: the merge destroys nothing." + effects
	}
	if pr.Later != "" {
		effects += " " + pr.Later + "."
	}
	unplanned := runinfo.Unplanned(pr.Unplanned)
	if unplanned != "" {
		effects += " Not planned: " + unplanned + "."
	}
	planned := n - stopping - moving
	switch {
	case pending > 0:
		text := fmt.Sprintf("%d of %s planned", n-pending-failed, all)
		if failed > 0 {
			text += fmt.Sprintf(", %d failed", failed)
		}
		if waiting > 0 {
			text += ", " + count(waiting, "waits", "wait") + " for a command"
		}
		return Pending, text + "."
	case failed > 0:
		return Failure, fmt.Sprintf("%d of %s failed.", failed, all)
	case failing > 0:
		return Failure, count(failing, "StackSet has", "StackSets have") + " an error after the merge." + effects
	case len(pr.Skipped) > 0:
		return Failure, count(len(pr.Skipped), "affected Stack is", "affected Stacks are") + " not planned."
	case pr.Unread:
		return Success, "Nothing is planned: no Stack reads the base." + effects
	case n == 0 && pr.Later != "":
		return Success, strings.TrimSpace(effects)
	case n == 0 && unplanned != "": // Git providers have no neutral state that a required status may have
		return Success, "No Stack is affected, and the merge has changes that no plan shows." + effects
	case n == 0:
		return Success, "No Stack is affected." + effects
	case planned == 0:
		return Success, strings.TrimSpace(effects)
	}
	return Success, count(planned, "Stack", "Stacks") + " planned: " + runinfo.Summary(&sum) + "." + effects
}

// isUnchanged reports whether nothing is to be known about the plan of the Stack but that it has no changes.
func (s Stack) isUnchanged() bool {
	state, _ := s.result()
	return state == Success && s.Plan != nil && !s.Plan.Changes && (s.OnMerge == nil || s.OnMerge.Message == "") &&
		s.Plan.Partial == "" && s.Plan.Unverified == "" && s.DeletedDirectory == "" &&
		(s.policies() == "" || s.policies() == "passed")
}

// sorted returns the Stacks with the failed ones first, then those that destroy, each group by name, so that what is
// cut last matters most.
func (pr PullRequest) sorted() []Stack {
	rank := func(s Stack) int {
		state, _ := s.result()
		switch {
		case state == Failure:
			return 0
		case s.Plan != nil && s.Plan.Destroy > 0 && s.DeletedDirectory == "":
			return 1
		}
		return 2
	}
	return slices.SortedFunc(slices.Values(pr.Stacks), func(a, b Stack) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.key(), b.key()))
	})
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
