// Package requirement decides whether a pull request has what its Repository requires of an apply before the merge. It
// is pure: no client, no clock and no log.
package requirement

import (
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Facts are what requirements are evaluated on.
type Facts struct {
	// Required are spec.pullRequests.requirements of the Repository.
	Required []v1alpha1.Requirement
	// Head is the commit of the plans, and Base the commit of the base that they are of.
	Head, Base string
	// Newest is the newest head of the pull request.
	Newest string
	// Ended: the pull request is not open. Merged: its base has the head that the plans are of, so that nothing more is
	// required.
	Ended, Merged bool
	// Compared: whether the Stacks have diverged is known.
	Compared bool
	// Branch is that of the head, and Into that of the base.
	Branch, Into string
	// Author is the user who opened the pull request, as the name of a user for RBAC; empty if it is not known.
	Author string
	// Unread is why the Git provider cannot be read; empty if Readiness and Approvals are what it reports.
	Unread    string
	Readiness pulls.Readiness
	Approvals []Approval
	// Stacks are those that the pull request affects.
	Stacks []Stack
}

// Approval is a review that approves a commit.
type Approval struct {
	// By is the user, as the name of a user for RBAC; empty if the login cannot be one.
	By string
	// Commit is the approved one; empty if it is not known.
	Commit string
}

// Stack is a Stack that the pull request affects.
type Stack struct {
	Namespace, Name string
	// Diverged: the base has a commit that the head lacks and that changes the code of the Stack.
	Diverged bool
}

// Evaluate returns each requirement with its state, in the order in which they are required.
func Evaluate(f Facts) (all []v1alpha1.PullRequestRequirement) {
	for _, required := range f.Required {
		r := v1alpha1.PullRequestRequirement{Type: required}
		switch {
		case f.Merged:
			r.State = v1alpha1.RequirementMet
		case required == v1alpha1.RequirementApproved:
			r.State, r.Message = f.approved()
		case required == v1alpha1.RequirementMergeable:
			r.State, r.Message = f.mergeable()
		case required == v1alpha1.RequirementUndiverged:
			r.State, r.Message, r.Stacks = f.undiverged()
		default: // of a newer version
			r.State, r.Message = missing("this version of Cairn does not know this requirement: an " +
				"administrator has to correct spec.pullRequests.requirements of the Repository")
		}
		r.Message = runinfo.Clip(r.Message, maxMessage)
		all = append(all, r)
	}
	return all
}

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 500

// Missing returns which requirements a Stack is known to lack; empty for none. Its Run waits for what is not known.
func Missing(all []v1alpha1.PullRequestRequirement, namespace, name string) string {
	var parts []string
	for _, r := range all {
		concerns := len(r.Stacks) == 0 || slices.Contains(r.Stacks, namespace+"/"+name)
		if r.State == v1alpha1.RequirementMissing && concerns {
			parts = append(parts, r.Text())
		}
	}
	return strings.Join(parts, "; ")
}

type state = v1alpha1.RequirementState

func missing(format string, args ...any) (state, string) {
	return v1alpha1.RequirementMissing, fmt.Sprintf(format, args...)
}

func unknown(format string, args ...any) (state, string) {
	return v1alpha1.RequirementUnknown, fmt.Sprintf(format, args...)
}

// readable returns why nothing that the Git provider reports counts; Met if it does.
func (f Facts) readable() (state, string) {
	v := f.Readiness
	switch {
	case f.Ended:
		return missing("the pull request is not open")
	case f.Newest != f.Head:
		return missing("head %.12s is not the newest one of the pull request: comment /cairn apply to apply "+
			"that one, or /cairn unlock", f.Head)
	case f.Unread != "":
		return unknown("the Git provider cannot be read: %s", f.Unread)
	case v.Head != f.Head || v.Head == "":
		return unknown("the Git provider has another head than %.12s: Cairn has not planned it yet", f.Head)
	case v.State != pulls.Open:
		return missing("the pull request is not open")
	case v.Draft:
		return missing("the pull request is a draft: its author has to mark it as ready for review")
	}
	return v1alpha1.RequirementMet, ""
}

// approved returns whether another user than the author approves the head, and no other review is required.
func (f Facts) approved() (state, string) {
	if is, why := f.readable(); is != v1alpha1.RequirementMet {
		return is, why
	}
	isOther := func(a Approval) bool {
		return a.By != "" && f.Author != "" && !strings.EqualFold(a.By, f.Author) && a.Commit == f.Head
	}
	switch {
	case f.Author == "":
		return missing("it is not known who opened the pull request, so that no review counts: open another one")
	case f.Readiness.Review == pulls.ChangesRequested:
		return missing("a review requests changes: its user has to approve, or the review has to be dismissed at the " +
			"Git provider")
	case !slices.ContainsFunc(f.Approvals, isOther):
		return missing("no review approves head %.12s: another user than %s has to approve it at the Git provider",
			f.Head, f.Author)
	case f.Readiness.Review == pulls.ReviewSufficient:
		return v1alpha1.RequirementMet, ""
	case f.Readiness.Review == pulls.ReviewRequired:
		return missing("the Git provider requires more reviews: its reviewers, such as the owners of the code, " +
			"have to approve")
	}
	return unknown("the Git provider does not report whether it requires more reviews")
}

// mergeable returns whether the Git provider would merge the pull request.
func (f Facts) mergeable() (state, string) {
	if is, why := f.readable(); is != v1alpha1.RequirementMet {
		return is, why
	}
	switch v := f.Readiness; {
	case v.Merge == pulls.MergeAllowed:
		return v1alpha1.RequirementMet, ""
	case v.Merge != pulls.MergeBlocked:
		return unknown("the Git provider has not decided yet whether it would merge the pull request")
	case v.OwnBlocks:
		return missing("the Git provider would not merge it (%s), and requires a status of Cairn that is no "+
			"success before the apply: an administrator has to remove one of both requirements",
			strings.Join(v.Blockers, ", "))
	default:
		return missing("the Git provider would not merge it (%s): a user who can push to %s has to correct that",
			strings.Join(v.Blockers, ", "), f.Branch)
	}
}

// maxNamed is the maximum number of Stacks in a message.
const maxNamed = 5

// undiverged returns whether the head has what changes the Stacks in the base, which must be what is fetched.
func (f Facts) undiverged() (state, string, []string) {
	is, why := f.readable()
	if is == v1alpha1.RequirementMet && (f.Readiness.Base == "" || f.Readiness.Base != f.Base) {
		is, why = unknown("the plans are of commit %.12s of %s, which has a newer one at the Git provider: "+
			"Cairn has not fetched it yet", f.Base, f.Into)
	}
	if is == v1alpha1.RequirementMet && (!f.Compared || len(f.Stacks) == 0) {
		is, why = unknown("Cairn has not compared the code of the Stack with that of %s: resolve conflicts "+
			"with it, or request another Run with cairn apply if the Repository does not require this any more", f.Into)
	}
	if is != v1alpha1.RequirementMet {
		return is, why, nil
	}
	var diverged []string
	for _, s := range f.Stacks {
		if s.Diverged {
			diverged = append(diverged, s.Namespace+"/"+s.Name)
		}
	}
	if len(diverged) == 0 {
		return v1alpha1.RequirementMet, "", nil
	}
	is, why = missing("%s has newer commits that change the code of %s: a user who can push to %s has to merge "+
		"%s into it, or to rebase it", f.Into, named(diverged), f.Branch, f.Into)
	return is, why, diverged
}

func named(stacks []string) string {
	text := strings.Join(stacks[:min(len(stacks), maxNamed)], ", ")
	if more := len(stacks) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
