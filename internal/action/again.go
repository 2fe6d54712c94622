package action

import (
	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// Again is the operation that does what was not done of a Stack, given its Runs, the newest first. It is empty where there is
// nothing to try again: the last Run that was to change anything succeeded, or there is none, and then that is nil.
func Again(stack *v1alpha1.Stack, runs []v1alpha1.Run) (v1alpha1.Operation, *v1alpha1.Run) {
	last := lastTried(stack, runs)
	switch {
	case last != nil && last.Status.Phase == v1alpha1.PhaseSucceeded:
		return "", last
	case stack.DeletionTimestamp != nil:
		return v1alpha1.OperationDestroy, last
	case last == nil:
		return "", nil
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return v1alpha1.OperationDestroy, last
	}
	return v1alpha1.OperationApply, last // which only plans where spec.apply is Never
}

// lastTried is the newest Run that decides how a Stack stands, as the operator has it: none that only looked, and no destroy
// that was not wanted any more.
func lastTried(stack *v1alpha1.Stack, runs []v1alpha1.Run) *v1alpha1.Run {
	for i := range runs {
		r := &runs[i]
		switch {
		case runinfo.IsDriftCheck(r):
		case r.Spec.Operation == v1alpha1.OperationPlan && r.Spec.Cause.Type == v1alpha1.CauseManual && stack.Spec.Apply != v1alpha1.ApplyNever:
		case r.Spec.Operation == v1alpha1.OperationDestroy && r.Status.Phase == v1alpha1.PhaseSuperseded:
		default:
			return r
		}
	}
	return nil
}
