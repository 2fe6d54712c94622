package action

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/approval"
	"cairn.dev/cairn/internal/run/runinfo"
)

// Impossible is why an action has no effect on an object as it is now.
type Impossible string

func (why Impossible) Error() string { return string(why) }

// Again is the operation that a retry of a Stack requests, given the Runs of its namespace: what its last Run did not
// do. The error is Impossible.
func Again(stack *v1alpha1.Stack, runs []v1alpha1.Run) (v1alpha1.Operation, error) {
	last := lastTried(stack, runinfo.Of(runs, stack))
	switch {
	case last != nil && last.Status.Phase == v1alpha1.PhaseSucceeded:
		return "", Impossible(fmt.Sprintf("there is nothing to retry: Run %s succeeded", last.Name))
	case stack.DeletionTimestamp != nil:
		return v1alpha1.OperationDestroy, nil
	case last == nil:
		return "", Impossible(fmt.Sprintf("there is nothing to retry: Stack %s has no Run with changes", stack.Name))
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return v1alpha1.OperationDestroy, nil
	}
	return v1alpha1.OperationApply, nil // which only plans where spec.apply is Never
}

// CheckCancel returns an error, which is Impossible, for a Run that has ended.
func CheckCancel(run *v1alpha1.Run) error {
	if run.Status.Phase.Finished() {
		return Impossible(fmt.Sprintf("there is nothing to cancel: Run %s is %s already", run.Name, run.Status.Phase))
	}
	return nil
}

// CheckApproval returns an error, which is Impossible, for an approval of a Run's plan that would not count, where its
// Stack, nil if it is not known, has spec.preventSelfApproval only since the Run was created. The admission policies
// check the rules of the Run itself.
func CheckApproval(run *v1alpha1.Run, stack *v1alpha1.Stack, by string) error {
	if run.Spec.PreventSelfApproval || stack == nil {
		return nil
	}
	if why := approval.Denial(run, stack.Spec.PreventSelfApproval, by); why != "" {
		return Impossible(why)
	}
	return nil
}

// lastTried is the newest Run that decides how a Stack stands, as the operator has it: none that only looked, and no
// destroy that was not wanted any more.
func lastTried(stack *v1alpha1.Stack, runs []v1alpha1.Run) *v1alpha1.Run {
	for i := range runs {
		r := &runs[i]
		switch {
		case runinfo.IsDriftCheck(r):
		case r.Spec.Operation == v1alpha1.OperationPlan && r.Spec.Cause.Type == v1alpha1.CauseManual &&
			stack.Spec.Apply != v1alpha1.ApplyNever:
		case r.Spec.Operation == v1alpha1.OperationDestroy && r.Status.Phase == v1alpha1.PhaseSuperseded:
		default:
			return r
		}
	}
	return nil
}
