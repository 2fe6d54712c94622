package approval

import (
	"cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// SameShape are the facts about a Run that waits in a stage of a Pipeline, and about the Run of the stage before whose
// plan a user approved. Values differ between stages, so that the shape of both plans is compared, and everything else
// that is the same in both stages.
type SameShape struct {
	// Run is the Run that waits, and PreventSelfApproval the rule of its Stack now.
	Run                 *v1alpha1.Run
	PreventSelfApproval bool
	// OfRelease reports that the Run has the release that its stage has now, and Completed that the stage before has
	// completed it. Held reports that a user promoted an earlier release to the stage.
	OfRelease, Completed, Held bool
	// OnlyCode reports that the inputs of the Run differ from what its Stack has applied in the code only.
	OnlyCode bool
	// Approved is the Run that applied the release to the corresponding Stack of the stage before; nil if none is
	// known, and Unknown is why.
	Approved *v1alpha1.Run
	Unknown  string
	// ApprovedPrevents is spec.preventSelfApproval of that Stack now.
	ApprovedPrevents bool
}

// Refusal returns why the approval of the stage before does not count for the plan of the Run; empty if it does.
func (c SameShape) Refusal() string {
	run, plan := c.Run, c.Run.Status.Plan
	switch {
	case run.Spec.Operation != v1alpha1.OperationApply || !Pending(run):
		return "the Run waits for no approval of an apply"
	case !c.OfRelease:
		return "the Run does not have the release of the stage"
	case c.Held:
		return "a user promoted an earlier release to the stage"
	case !c.Completed:
		return "the stage before has not completed the release"
	case !isOfCommits(run) || !c.OnlyCode:
		return "the Run has other causes than the release"
	case run.Spec.AfterHold != "" || run.Spec.PlanOptions != nil || run.Spec.AfterPartial != "":
		return "the plan requires an approval of its own"
	case plan.Destroy+plan.Replace+plan.Forget > 0:
		return "the plan deletes, replaces or forgets resources"
	case c.Approved == nil:
		return cmp.Or(c.Unknown, "no Run of the stage before is known that applied the release")
	}
	return c.compare()
}

// compare returns why the approval of one Run does not count for the plan of the other one.
func (c SameShape) compare() string {
	run, plan, approved := c.Run, c.Run.Status.Plan, c.Approved.Status.Plan
	by := c.By()
	switch {
	case by == "":
		return "no user approved the plan of Run " + c.Approved.Name + " itself"
	case !hasShape(plan) || !hasShape(approved):
		return "Cairn cannot compare the plan with that of Run " + c.Approved.Name
	case plan.Shape != approved.Shape:
		return "the plan does not change the same as that of Run " + c.Approved.Name
	case engineOf(plan) != engineOf(approved):
		return "the plan is of another version of the engine than that of Run " + c.Approved.Name
	case !samePolicies(plan.Policy, approved.Policy):
		return "the policies have another result than for Run " + c.Approved.Name
	case By(run, c.PreventSelfApproval, by) == SelfApproval:
		return by + " caused the Run (spec.preventSelfApproval)"
	case By(run, c.PreventSelfApproval, by) != Valid:
		return "not all users who caused the Run are known (spec.preventSelfApproval)"
	}
	return ""
}

// By returns the user who approved the plan that the Run of the stage before applied; empty if none did. An approval
// that was carried itself is none: no user has read a plan with these values, or in this stage.
func (c SameShape) By() string {
	if c.Approved == nil {
		return ""
	}
	a, plan := c.Approved.Spec.Approval, c.Approved.Status.Plan
	if a == nil || plan == nil || c.Approved.Status.Phase != v1alpha1.PhaseSucceeded ||
		a.PlanDigest != plan.Digest || By(c.Approved, c.ApprovedPrevents, a.By) != Valid {
		return ""
	}
	return a.By
}

// hasShape reports whether the shape of a plan has all that its apply does, as Cairn read it itself. What Terragrunt
// runs beside the plan is not in it.
func hasShape(p *v1alpha1.Plan) bool { return p.Shape != "" && isComparable(p) && p.Wrapped == nil }
