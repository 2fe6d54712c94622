// Package approval has the rule that says whether the approval of a plan is valid. The operator, the server and the CLI
// all call it.
package approval

import (
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Status is the status of the approval in a Run.
type Status = v1alpha1.ApprovalState

// The statuses of an approval.
const (
	None         = v1alpha1.ApprovalPending
	OtherPlan    = v1alpha1.ApprovalOtherPlan
	SelfApproval = v1alpha1.ApprovalSelfApproval
	UnknownCause = v1alpha1.ApprovalUnknownCause
	Valid        = v1alpha1.ApprovalValid
)

// Of returns the status of a Run's approval. preventSelfApproval is that of its Stack, which may set it after the Run
// was created; the Run's own cannot be taken back.
func Of(run *v1alpha1.Run, preventSelfApproval bool) Status {
	a, plan := Given(run), run.Status.Plan
	switch {
	case a == nil:
		return None
	case plan == nil || a.PlanDigest != plan.Digest:
		return OtherPlan
	}
	return By(run, preventSelfApproval, a.By)
}

// By returns what the status of an approval of the Run's plan by a user would be: SelfApproval, UnknownCause or Valid.
func By(run *v1alpha1.Run, preventSelfApproval bool, user string) Status {
	switch prevents := run.Spec.PreventSelfApproval || preventSelfApproval; {
	case prevents && Caused(run, user):
		return SelfApproval
	case run.Spec.SelfApprovalRemovedBy != "" && user == run.Spec.SelfApprovalRemovedBy:
		return SelfApproval
	case prevents && NeedsRequest(run):
		return UnknownCause
	}
	return Valid
}

// Caused reports whether a user caused a Run. A Run of an older release has only spec.cause.by, which may be a user
// whose change was reverted.
func Caused(run *v1alpha1.Run, user string) bool {
	if len(run.Spec.CausedBy) == 0 {
		return user == run.Spec.Cause.By
	}
	return slices.ContainsFunc(run.Spec.CausedBy, func(c v1alpha1.Contributor) bool { return is(c, user) })
}

// mostExcluded is how many users status.approval names, since a Run may be caused by 50.
const mostExcluded = 10

// Publish returns status.approval of a Run whose plan requires an approval by these rules. Others read it there, and
// decide nothing by the rules again.
func Publish(run *v1alpha1.Run, preventSelfApproval bool, requiredBy []v1alpha1.ApprovalRule) *v1alpha1.RunApproval {
	prevents := run.Spec.PreventSelfApproval || preventSelfApproval
	users := excluded(run, prevents)
	return &v1alpha1.RunApproval{
		State: Of(run, preventSelfApproval), RequiredBy: requiredBy, PreventSelfApproval: prevents,
		ExcludedUsers: users[:min(len(users), mostExcluded)], RequestRequired: prevents && NeedsRequest(run),
	}
}

// excluded are the names of those who cannot approve a Run, each once.
func excluded(run *v1alpha1.Run, prevents bool) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if prevents {
		for _, c := range run.Spec.CausedBy {
			add(c.Name)
		}
		if len(names) == 0 {
			add(run.Spec.Cause.By)
		}
	}
	add(run.Spec.SelfApprovalRemovedBy)
	return names
}

// IsSent reports whether a user approved the plan of a Run, and the operator did not see it yet or found it valid: no
// other user needs to approve it.
func IsSent(run *v1alpha1.Run) bool {
	a, plan, decided := Given(run), run.Status.Plan, run.Status.Approval
	return a != nil && plan != nil && a.PlanDigest == plan.Digest &&
		(decided == nil || decided.State == None || decided.State == Valid)
}

// NeedsRequest reports that not all users who caused a Run are known, and that no user requested it. A user who
// requested it cannot approve it, so with a request two users want what it applies.
func NeedsRequest(run *v1alpha1.Run) bool {
	return run.Spec.CausedByUnknown != "" && !slices.ContainsFunc(run.Spec.CausedBy, func(c v1alpha1.Contributor) bool {
		return c.Kind == v1alpha1.ContributorRequest
	})
}

// is reports whether a user of the API server is a contributor. The API server may prefix the names of an identity
// provider, as in oidc:alice@example.com.
func is(c v1alpha1.Contributor, user string) bool {
	lower := strings.ToLower(user)
	return user == c.Name || slices.ContainsFunc(c.Users, func(u string) bool {
		return lower == u || strings.HasSuffix(lower, ":"+u) || strings.HasSuffix(lower, "#"+u)
	})
}

// UsersOf are the names under which the API server can know a user whom a commit names, in lower case. It does not
// know most authors by any: then the rule cannot exclude them.
func UsersOf(name, email string) []string {
	local, _, _ := strings.Cut(email, "@")
	_, login, _ := strings.Cut(local, "+") // 1234+alice@users.noreply.github.com
	var users []string
	for _, u := range []string{name, email, local, login} {
		if u = strings.ToLower(strings.TrimSpace(u)); u != "" && len(u) <= 253 && !slices.Contains(users, u) {
			users = append(users, u)
		}
	}
	return users
}

// Denial says why a user cannot approve a Run, and what to do; empty if they can.
func Denial(run *v1alpha1.Run, preventSelfApproval bool, user string) string {
	switch By(run, preventSelfApproval, user) {
	case SelfApproval:
		if !Caused(run, user) {
			return fmt.Sprintf("Run %s requires the approval of another user than %s, who removed "+
				"spec.preventSelfApproval from the Stack", run.Name, user)
		}
		return fmt.Sprintf("Run %s was caused by %s and requires the approval of another user "+
			"(spec.preventSelfApproval)", run.Name, user)
	case UnknownCause:
		return fmt.Sprintf("not all users who caused Run %s are known: %s. "+
			"Request a Run with cairn apply %s, then let another user approve that (spec.preventSelfApproval)",
			run.Name, run.Spec.CausedByUnknown, run.Spec.Stack.Name)
	}
	return ""
}

// Pending reports whether a Run has a plan that awaits an approval.
func Pending(run *v1alpha1.Run) bool {
	return run.Status.Phase == v1alpha1.PhaseAwaitingApproval && run.Status.Plan != nil
}
