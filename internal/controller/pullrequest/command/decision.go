package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot is what a decision about a command is based on.
type Snapshot struct {
	Command Command
	// User is who wrote the comment, as User returns it; empty if the user is unknown.
	User string
	// Head is the head commit now.
	Head string
	// Plans identifies the head commit and the plans now, for commands about plans that the user has read; empty to
	// identify them by the head commit alone.
	Plans string
	// Restricted: a Stack is planned only if a command of a user who may plan it names the head.
	Restricted bool
	// Draft: it is a draft. Fork: the head is in another repository.
	Draft, Fork bool
	// Closed: it is closed or merged. Conflict: it does not merge into its base.
	Closed, Conflict bool
	// Authors are the author of the pull request, and the authors and committers of its commits, as User returns them.
	Authors []string
	// UnknownAuthor: a commit is of a user who has no login at the Git provider, and can be any user.
	UnknownAuthor bool
	Stacks        []Stack
}

// Stack is a Stack that a command can be for.
type Stack struct {
	Namespace, Name string
	// Affected: the pull request affects it now. Skipped: it is beyond maxStacks, so that a command has to name it.
	Affected, Skipped bool
	// Verbs that the user has on it, by SubjectAccessReview.
	Verbs []string
	// Phase of its Run for the pull request; empty before there is one. Head is the head commit that this Run plans.
	Phase v1alpha1.RunPhase
	Head  string
	// PlanDigest is the digest of the plan now, SeenDigest the one that the comment of Cairn had when the user
	// commented.
	PlanDigest, SeenDigest string
	// Changes: the plan has changes. Denied: a policy denies it.
	Changes, Denied bool
	// PreventSelfApproval is spec.preventSelfApproval.
	PreventSelfApproval bool
	// Approval of a plan; nil for none.
	Approval *Approval
	// Incomparable: no plan after the merge can be compared with this one.
	Incomparable bool
	// Locked: the pull request is applied to the Stack before its merge, so that it has no other code until then.
	Locked bool
	// HeldBy is another pull request that is applied to the Stack before its merge; empty for none.
	HeldBy string
	// Lacks is which requirements of an apply before the merge are missing, and who can act; empty for none.
	Lacks string
	// AfterMergeOnly is why the Stack cannot be applied before the merge; empty if it can.
	AfterMergeOnly string
}

// Approval is valid for one plan of one head commit.
type Approval struct{ Head, PlanDigest, By string }

// Reason is why a command is rejected.
type Reason string

// The reasons of results.
const (
	// Allowed is the reason of what is not rejected.
	Allowed      Reason = "Allowed"
	Forbidden    Reason = "Forbidden"
	Closed       Reason = "Closed"
	Conflict     Reason = "Conflict"
	HeadChanged  Reason = "HeadChanged"
	NotAffected  Reason = v1alpha1.ReasonNotAffected
	Ambiguous    Reason = "Ambiguous"
	NotPlanned   Reason = "NotPlanned"
	Planning     Reason = "Planning"
	PlanFailed   Reason = "PlanFailed"
	StalePlan    Reason = "StalePlan"
	PolicyDenied Reason = Reason(v1alpha1.FailurePolicyDenied)
	NoChanges    Reason = v1alpha1.ReasonNoChanges
	Applying     Reason = "Applying"
	SelfApproval Reason = "SelfApproval"
	NotApproved  Reason = "NotApproved"
	NotLocked    Reason = "NotLocked"
	Incomparable Reason = "Incomparable"
	Draft        Reason = v1alpha1.ReasonDraft
	Fork         Reason = "Fork"
	Held         Reason = "Held"
	AfterMerge   Reason = "AfterMerge"
	Requirement  Reason = "Requirement"
)

// Decision is what a command may do: the result of each Stack, or the reason why it is rejected as a whole.
type Decision struct {
	Reason  Reason
	Message string
	Stacks  []Result
}

// Result is what a command may do to one Stack.
type Result struct {
	Stack   Ref
	Reason  Reason
	Message string
	// Head and PlanDigest are what the command is bound to if it is allowed. Of a plan there is no digest.
	Head, PlanDigest string
}

// Allowed reports whether the command does something. A command without effect is never a success.
func (d Decision) Allowed() bool {
	return slices.ContainsFunc(d.Stacks, func(r Result) bool { return r.Reason == Allowed })
}

// Text is the answer for the user.
func (d Decision) Text() string {
	var b strings.Builder
	b.WriteString(d.Message)
	for _, r := range d.Stacks {
		fmt.Fprintf(&b, "%s: %s.\n", r.Stack, r.Message)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Decide returns what a command may do now.
func Decide(s Snapshot) Decision {
	if s.Command.Verb == Help {
		return Decision{Reason: Allowed, Message: Usage}
	}
	if reason, message := s.whole(); reason != "" {
		return Decision{Reason: reason, Message: "Nothing was done: " + message + "."}
	}
	d := Decision{Reason: Allowed, Stacks: s.results()}
	if len(d.Stacks) == 0 {
		message := "Nothing was done: there is no Stack to " + string(s.Command.Verb) + "."
		return Decision{Reason: NotAffected, Message: message}
	}
	// Without names the command is for all plans, and not for those that happen to be there.
	planning := slices.IndexFunc(d.Stacks, func(r Result) bool { return r.Reason == Planning })
	if len(s.Command.Stacks) == 0 && planning >= 0 && s.Command.needsPlan() {
		for i, r := range d.Stacks {
			if r.Reason == Allowed {
				message := fmt.Sprintf("rejected because %s is still planning: wait, or name the Stacks",
					d.Stacks[planning].Stack)
				d.Stacks[i] = Result{Stack: r.Stack, Reason: Planning, Message: message}
			}
		}
	}
	return d
}

// needsPlan reports whether the command is about a plan that the user has read.
func (c Command) needsPlan() bool { return c.Verb == Apply || c.Verb == Approve || c.Verb == Reject }

// whole returns why nothing is done at all; nothing if the Stacks decide.
func (s Snapshot) whole() (Reason, string) {
	bound := s.Command.needsPlan() || s.Command.Verb == Plan && s.Restricted
	ofPlans := s.Command.needsPlan() && s.Plans != ""
	switch {
	case s.User == "":
		return Forbidden, "the user is not known at the Git provider"
	case s.Command.Verb == Unlock:
		return "", ""
	case s.Closed:
		return Closed, "the pull request is closed"
	case s.Fork && s.Command.Verb == Apply:
		return Fork, "the head is in another repository, and its code is applied after the merge only"
	case s.Draft && s.Command.Verb == Apply:
		return Draft, "the pull request is a draft: mark it as ready for review"
	case s.Conflict && s.Command.Verb != Reject:
		return Conflict, "the head conflicts with the base: resolve the conflicts and push"
	case ofPlans && s.Command.Commit != s.Plans:
		return StalePlan, fmt.Sprintf("it names no plans, or other plans than there are now: read the "+
			"comment of Cairn, which ends its first paragraph with the command /cairn %s", s.Command.Verb)
	case ofPlans:
	case bound && s.Command.Commit == "":
		return HeadChanged, fmt.Sprintf("name the head commit that you have read: /cairn %s %s", s.Command.Verb, s.Head)
	case s.Command.Commit != "" && s.Command.Commit != s.Head:
		return HeadChanged, fmt.Sprintf(
			"the command is for head %.12s, and the head is %.12s now: read it and comment "+
				"again", s.Command.Commit, s.Head)
	}
	return "", ""
}

// results decides for each Stack that the command is for, by name.
func (s Snapshot) results() []Result {
	byRef := map[Ref]Result{}
	add := func(r Ref, reason Reason, message string) {
		byRef[r] = Result{Stack: r, Reason: reason, Message: message}
	}
	choose := func(matches func(Stack) bool) (chosen []Stack) {
		for _, st := range s.Stacks {
			if (st.Affected || s.Command.Verb == Unlock && st.Locked) && matches(st) {
				chosen = append(chosen, st)
			}
		}
		return chosen
	}
	chosen := choose(func(st Stack) bool { return len(s.Command.Stacks) == 0 && !st.Skipped })
	for _, ref := range s.Command.Stacks {
		switch found := choose(func(st Stack) bool {
			return st.Name == ref.Name && (ref.Namespace == "" || st.Namespace == ref.Namespace)
		}); len(found) {
		case 0:
			add(ref, NotAffected, "rejected because the pull request does not affect this Stack now")
		case 1:
			chosen = append(chosen, found[0])
		default:
			add(ref, Ambiguous, "rejected because several namespaces have this Stack: write NAMESPACE/NAME")
		}
	}
	for _, st := range chosen {
		r := Ref{st.Namespace, st.Name}
		if reason, why := s.decide(st); reason != Allowed {
			add(r, reason, "rejected because "+why)
		} else {
			byRef[r] = s.allowed(r, st)
		}
	}
	var all []Result
	for _, r := range byRef {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Result) int { return cmp.Compare(a.Stack.String(), b.Stack.String()) })
	return all
}

// allowed binds a command to what the user has read.
func (s Snapshot) allowed(r Ref, st Stack) Result {
	result := Result{Stack: r, Reason: Allowed, Head: s.Head}
	result.Message = fmt.Sprintf("%s of head %.12s is accepted", s.Command.Verb, s.Head)
	if s.Command.needsPlan() {
		result.PlanDigest = st.PlanDigest
	}
	return result
}

// decide returns whether the command is allowed for a Stack.
func (s Snapshot) decide(st Stack) (Reason, string) {
	verb := string(s.Command.Verb)
	if s.Command.Verb == Unlock { // it is to end what an apply began
		verb = string(Apply)
	}
	inProgress := st.Phase == v1alpha1.PhaseQueued || st.Phase == v1alpha1.PhasePlanning
	switch {
	case !slices.Contains(st.Verbs, verb):
		return Forbidden, fmt.Sprintf("%s does not have the verb %s on this Stack", s.User, verb)
	case s.Command.Verb == Unlock && !st.Locked:
		return NotLocked, "the pull request is not applied to this Stack"
	case s.Command.Verb == Unlock:
		return Allowed, ""
	case st.Phase == v1alpha1.PhaseApplying:
		return Applying, "this Stack is being applied"
	case inProgress && (s.Command.needsPlan() || st.Head == s.Head):
		return Planning, "this Stack is still planning"
	case s.Command.Verb == Plan:
		return Allowed, ""
	}
	return s.decidePlan(st)
}

// decidePlan returns whether a plan can be approved, rejected or applied.
func (s Snapshot) decidePlan(st Stack) (Reason, string) {
	switch {
	case st.Phase == v1alpha1.PhaseFailed:
		return PlanFailed, "its plan failed"
	case st.PlanDigest == "" || st.Phase != v1alpha1.PhaseSucceeded && st.Phase != v1alpha1.PhaseAwaitingApproval:
		return NotPlanned, "this Stack has no plan: comment /cairn plan"
	case st.Head != s.Head:
		return StalePlan, "its plan is of an older head: wait for the new plan"
	case st.SeenDigest != st.PlanDigest:
		return StalePlan, "it has another plan now than the one that you read: read it and comment again"
	case s.Command.Verb == Reject && s.Plans != "" && st.Approval == nil:
		return NotApproved, "its plan is not approved"
	case s.Command.Verb == Reject:
		return Allowed, ""
	case s.Command.Verb == Apply && st.AfterMergeOnly != "":
		return AfterMerge, st.AfterMergeOnly
	case s.Command.Verb == Apply && st.HeldBy != "":
		return Held, fmt.Sprintf("%s is applied to this Stack: merge or close it, or comment /cairn unlock there",
			st.HeldBy)
	case s.Command.Verb == Approve && st.Incomparable:
		return Incomparable, "Cairn cannot compare its plan with that of the merge: approve the Run after the merge"
	case st.Denied:
		return PolicyDenied, "a policy denies its plan"
	case !st.Changes:
		return NoChanges, "its plan has no changes"
	case s.Command.Verb == Apply && st.Lacks != "":
		return Requirement, "it lacks what the Repository requires: " + st.Lacks
	case st.PreventSelfApproval && s.Command.Verb == Approve && s.IsAuthor(s.User):
		why := "spec.preventSelfApproval requires the approval of this plan by a user who has no commit in the " +
			"pull request"
		if s.UnknownAuthor {
			why += ", and a commit is of an author without a login at the Git provider"
		}
		return SelfApproval, why
	}
	return Allowed, "" // the Run of an apply requires the approvals
}

// IsAuthor reports whether a user has, or can have, written what is to be approved.
func (s Snapshot) IsAuthor(user string) bool {
	return s.UnknownAuthor || len(s.Authors) == 0 ||
		slices.ContainsFunc(s.Authors, func(a string) bool { return strings.EqualFold(a, user) })
}
