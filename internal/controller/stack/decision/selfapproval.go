package decision

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// The State keeps the rule of spec.preventSelfApproval, so that neither a change of the Stack nor another Stack over
// the same State removes it without another user.
//
//	the spec has it ──► kept ──► the spec does not have it: kept, with the user who removed it ──► an apply that another user approved ends it

// KeptSelfApproval is the rule that the State is to keep, instead of the one that it keeps; nil for none.
func KeptSelfApproval(stack *v1alpha1.Stack, kept *v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval {
	switch {
	case stack.Spec.PreventSelfApproval:
		return &v1alpha1.KeptSelfApproval{}
	case kept != nil && kept.RemovedBy == "":
		return &v1alpha1.KeptSelfApproval{RemovedBy: changedBy(stack)}
	}
	return kept
}

// keptSelfApproval is the rule that the State keeps from now on; nil for none, and without a State.
func keptSelfApproval(w Snapshot) *v1alpha1.KeptSelfApproval {
	if w.State == nil {
		return nil
	}
	return KeptSelfApproval(w.Stack, w.State.Status.SelfApproval)
}

// preventsSelfApproval reports that the user who causes a Run does not approve it: by the spec, or by the State.
func preventsSelfApproval(w Snapshot) bool {
	return w.Stack.Spec.PreventSelfApproval || keptSelfApproval(w) != nil
}

// TakesOverState reports that the Stack never applied the State, which has something to lose.
func (w Snapshot) TakesOverState() bool {
	return w.State != nil && w.State.Status.TakenOverBy(w.Stack.UID)
}

// setApprovalRules sets what a Run keeps of the rules for its approval and its apply, whatever becomes of the Stack.
func setApprovalRules(w Snapshot, spec *v1alpha1.RunSpec) {
	if h := w.Hold; h != nil && len(w.Requirements) > 0 && spec.Operation == v1alpha1.OperationApply {
		spec.Requirements = &v1alpha1.RunRequirements{
			Types:       slices.Clone(w.Requirements),
			PullRequest: v1alpha1.CarriedFrom{Namespace: h.Namespace, Name: h.Name, Number: h.Number},
		}
	}
	if ended := endedHold(w); ended != nil && spec.Operation == v1alpha1.OperationApply {
		spec.AfterHold = ended.Text()
	} else if left := leftRelease(w); left != nil && spec.Operation == v1alpha1.OperationApply {
		spec.AfterHold = shorten.Line(left.Text(), mostAfterHold) + leftText
	}
	if last := w.LastMutatingRun(); last != nil && appliedAPart(last) && spec.Operation == v1alpha1.OperationApply {
		spec.AfterPartial = last.Name
	}
	spec.PreventSelfApproval = preventsSelfApproval(w)
	if kept := keptSelfApproval(w); kept != nil {
		spec.SelfApprovalRemovedBy = kept.RemovedBy
	}
}
