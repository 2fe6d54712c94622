// Package approval has the rule that says whether the approval of a plan is valid. The operator, the server and the CLI all call it.
package approval

import "cairn.dev/cairn/api/v1alpha1"

// Status is the status of the approval in a Run.
type Status string

// The statuses of an approval.
const (
	// None: no user has approved the Run.
	None Status = "None"
	// OtherPlan: the approval is for a plan that the Run no longer has.
	OtherPlan Status = "OtherPlan"
	// SelfApproval: the user who caused the Run, or removed spec.preventSelfApproval, approved it, and that rule denies it.
	SelfApproval Status = "SelfApproval"
	// Valid: the plan of the Run is approved.
	Valid Status = "Valid"
)

// Of returns the status of a Run's approval. preventSelfApproval is that of its Stack, which may set it after the Run was created; the
// Run's own cannot be taken back.
func Of(run *v1alpha1.Run, preventSelfApproval bool) Status {
	a, plan := run.Spec.Approval, run.Status.Plan
	switch {
	case a == nil:
		return None
	case plan == nil || a.PlanDigest != plan.Digest:
		return OtherPlan
	case (run.Spec.PreventSelfApproval || preventSelfApproval) && a.By == run.Spec.Cause.By:
		return SelfApproval
	case run.Spec.SelfApprovalRemovedBy != "" && a.By == run.Spec.SelfApprovalRemovedBy:
		return SelfApproval
	}
	return Valid
}

// Pending reports whether a Run has a plan that awaits an approval.
func Pending(run *v1alpha1.Run) bool {
	return run.Status.Phase == v1alpha1.PhaseAwaitingApproval && run.Status.Plan != nil
}
