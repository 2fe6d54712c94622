package action

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestRetryIsOfRunsOfTheStack checks that a Run of an earlier Stack of the same name is not retried.
func TestRetryIsOfRunsOfTheStack(t *testing.T) {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", UID: "now"}}
	of := func(name string, uid types.UID, operation v1alpha1.Operation) v1alpha1.Run {
		owner := *metav1.NewControllerRef(&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", UID: uid}}, v1alpha1.GroupVersion.WithKind("Stack"))
		return v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: operation},
			Status:     v1alpha1.RunStatus{Phase: v1alpha1.PhaseFailed},
		}
	}
	earlier := of("net-2", "before", v1alpha1.OperationDestroy)
	orphan := earlier
	orphan.OwnerReferences = nil
	if operation, err := Again(stack, []v1alpha1.Run{earlier, orphan}); err == nil {
		t.Errorf("a retry of %s, of an earlier Stack's Run", operation)
	}
	operation, err := Again(stack, []v1alpha1.Run{earlier, orphan, of("net-1", "now", v1alpha1.OperationApply)})
	if err != nil || operation != v1alpha1.OperationApply {
		t.Errorf("a retry of %q: %v", operation, err)
	}
}

func TestRetry(t *testing.T) {
	made := func(name string, operation v1alpha1.Operation, cause v1alpha1.CauseType, phase v1alpha1.RunPhase) v1alpha1.Run {
		r := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RunSpec{Operation: operation, Cause: v1alpha1.Cause{Type: cause}}}
		r.Status.Phase = phase
		return r
	}
	failed := made("net-1", v1alpha1.OperationApply, v1alpha1.CauseSpec, v1alpha1.PhaseFailed)
	for name, tt := range map[string]struct {
		apply v1alpha1.ApplyPolicy
		runs  []v1alpha1.Run
		want  string
	}{
		"the last one":                              {runs: []v1alpha1.Run{failed}, want: "net-1"},
		"not a drift check after it":                {runs: []v1alpha1.Run{made("net-2", v1alpha1.OperationPlan, v1alpha1.CauseDrift, v1alpha1.PhaseSucceeded), failed}, want: "net-1"},
		"nor a plan that was asked for":             {runs: []v1alpha1.Run{made("net-2", v1alpha1.OperationPlan, v1alpha1.CauseManual, v1alpha1.PhaseFailed), failed}, want: "net-1"},
		"but that, where none applies":              {apply: v1alpha1.ApplyNever, runs: []v1alpha1.Run{made("net-2", v1alpha1.OperationPlan, v1alpha1.CauseManual, v1alpha1.PhaseFailed), failed}, want: "net-2"},
		"not a destroy that is no longer requested": {runs: []v1alpha1.Run{made("net-2", v1alpha1.OperationDestroy, v1alpha1.CauseDeletion, v1alpha1.PhaseSuperseded), failed}, want: "net-1"},
		"only plans":                                {runs: []v1alpha1.Run{made("net-2", v1alpha1.OperationPlan, v1alpha1.CauseDrift, v1alpha1.PhaseFailed)}},
		"nothing at all":                            {},
	} {
		got := ""
		if last := lastTried(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: tt.apply}}, tt.runs); last != nil {
			got = last.Name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
