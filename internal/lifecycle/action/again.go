package action

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
)

// Impossible is why an action has no effect on an object as it is now.
type Impossible string

func (why Impossible) Error() string { return string(why) }

// Again is the operation that a retry of a Stack requests, as the operator decided it. The error is Impossible.
func Again(stack *v1alpha1.Stack) (v1alpha1.Operation, error) {
	if stack.Status.Retry == nil {
		return "", Impossible(fmt.Sprintf("there is nothing to retry: the last apply or destroy of Stack %s "+
			"neither failed nor was canceled", stack.Name))
	}
	return stack.Status.Retry.Operation, nil
}

// CheckCancel returns an error, which is Impossible, for a Run that has ended.
func CheckCancel(run *v1alpha1.Run) error {
	if run.Status.Phase.Finished() {
		return Impossible(fmt.Sprintf("there is nothing to cancel: Run %s is %s already", run.Name, run.Status.Phase))
	}
	return nil
}

// CheckApproval returns an error, which is Impossible, for an approval of a Run's plan that would not count, where its
// Stack has spec.preventSelfApproval only since the Run was created, as the operator published it. The admission
// policies check the rules of the Run itself.
func CheckApproval(run *v1alpha1.Run, by string) error {
	if run.Spec.PreventSelfApproval {
		return nil
	}
	if why := DenialOfApproval(run, by); why != "" {
		return Impossible(why)
	}
	return nil
}

// DenialOfApproval is why the approval of a Run's plan by a user would not count; empty if it would. The rule of the
// Stack is as the operator published it.
func DenialOfApproval(run *v1alpha1.Run, by string) string {
	decided := run.Status.Approval
	return approval.Denial(run, decided != nil && decided.PreventSelfApproval, by)
}
