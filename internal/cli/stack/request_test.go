package stack

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestFulfills checks that a Run fulfills its own request and no other.
func TestFulfills(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, made v1alpha1.Operation
		cause       v1alpha1.CauseType
		apply       v1alpha1.ApplyPolicy
		want        bool
	}{
		"the Run that was asked for": {v1alpha1.OperationApply, v1alpha1.OperationApply,
			v1alpha1.CauseManual, "", true},
		"a destroy that was asked for": {v1alpha1.OperationDestroy, v1alpha1.OperationDestroy,
			v1alpha1.CauseManual, "", true},
		"a plan where nothing is applied": {v1alpha1.OperationApply, v1alpha1.OperationPlan,
			v1alpha1.CauseManual, v1alpha1.ApplyNever, true},
		"a plan where it is": {v1alpha1.OperationApply, v1alpha1.OperationPlan,
			v1alpha1.CauseManual, v1alpha1.ApplyManual, false},
		"a Run for another reason": {v1alpha1.OperationApply, v1alpha1.OperationApply,
			v1alpha1.CauseSpec, "", false},
		"a destroy in place of an apply": {v1alpha1.OperationApply, v1alpha1.OperationDestroy,
			v1alpha1.CauseManual, "", false},
		"a destroy since the Stack was deleted": {v1alpha1.OperationDestroy, v1alpha1.OperationDestroy,
			v1alpha1.CauseDeletion, "", false},
		"an apply in place of a plan to be shown": {v1alpha1.OperationPlan, v1alpha1.OperationApply,
			v1alpha1.CauseManual, "", false},
	} {
		made := &v1alpha1.Run{Spec: v1alpha1.RunSpec{Operation: tt.made, Cause: v1alpha1.Cause{Type: tt.cause}}}
		if got := fulfills(made, &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: tt.apply}}, tt.asked); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
