package run

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// replaced says who asked for another Run in place of this one; empty when nobody did, or when this one is not theirs to
// end.
func replaced(w World) string {
	q, ok := runinfo.Requested(w.Stack, w.Now)
	if !ok || q.Refused != "" || w.Stack.Spec.Suspend || finds(w) || !makesWay(w, q) {
		return ""
	}
	return "another Run was " + q.Who()
}

// makesWay says that a Run which is not at work ends for a request. One who only wants to look takes nothing from others
// that would not come back by itself: what was asked for, approved, or begun. A shell takes nothing: it waits its turn.
//
// For a destroy, which may have to wait for other Stacks or have nothing to destroy, the Stack says when.
func makesWay(w World, q runinfo.Request) bool {
	r := w.Run
	if q.Operation == v1alpha1.OperationShell {
		return false
	}
	if q.Operation == v1alpha1.OperationDestroy && r.Spec.Operation != v1alpha1.OperationPlan && w.Stack.DeletionTimestamp == nil {
		ready := apimeta.FindStatusCondition(w.Stack.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonDestroyPending
	}
	if q.Operation != v1alpha1.OperationPlan || w.Stack.DeletionTimestamp != nil || r.Spec.Operation == v1alpha1.OperationPlan {
		return true
	}
	return r.Spec.Cause.Type != v1alpha1.CauseManual && r.Spec.Approval == nil && !runinfo.Began(r)
}
