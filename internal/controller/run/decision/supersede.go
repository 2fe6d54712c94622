package decision

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// replaced returns who asked for another Run in place of this one; empty when there is no such request, or when it may
// not end this one.
func replaced(w Snapshot) string {
	q, ok := runinfo.Requested(w.Stack, w.Now)
	if !ok || q.Rejected != "" || w.Stack.Spec.Suspend || planIsFinal(w) || !yieldsTo(w, q) {
		return ""
	}
	return "another Run was " + q.Who()
}

// yieldsTo reports whether a Run which is not at work ends for a request. A request for a plan ends no Run that
// applies, since a user with the verb plan alone could otherwise keep all plans from being approved: it waits for that
// Run, until a user with the verb apply asks for it again. A request for a shell ends none: it waits.
//
// For a destroy, which may have to wait for other Stacks or have nothing to destroy, the condition of the Stack
// decides.
func yieldsTo(w Snapshot, q runinfo.Request) bool {
	r := w.Run
	if q.Operation == v1alpha1.OperationShell {
		return false
	}
	if q.Operation == v1alpha1.OperationDestroy && r.Spec.Operation != v1alpha1.OperationPlan &&
		w.Stack.DeletionTimestamp == nil {
		ready := apimeta.FindStatusCondition(w.Stack.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonDestroyPending
	}
	return q.Operation != v1alpha1.OperationPlan || w.Stack.DeletionTimestamp != nil ||
		r.Spec.Operation == v1alpha1.OperationPlan
}

// inputsAreStale: what this Run would do is no longer what is wanted, and nothing of it is under way.
func inputsAreStale(w Snapshot) (Decision, bool) {
	why := staleness(w)
	if why == "" || applied(w) {
		return Decision{}, false
	}
	a := runinfo.Current(&w.Run.Status)
	if a != nil && a.Failure != nil && runinfo.Began(w.Run) { // resources may have been changed
		return Decision{Phase: v1alpha1.PhaseFailed, Reason: string(a.Failure.Class),
			Message: fmt.Sprintf("%s: %s; not tried again since %s", failedStep(a), a.Failure.Message, why)}, true
	}
	return Decision{Phase: v1alpha1.PhaseSuperseded, Reason: v1alpha1.ReasonSuperseded, Message: why}, true
}

// staleness returns why what the Run would do is not wanted any more; empty when it is.
func staleness(w Snapshot) string {
	destroy := w.Run.Spec.Operation == v1alpha1.OperationDestroy
	switch {
	case w.Stack == nil:
		return "the Stack was deleted"
	case !destroy && w.Stack.DeletionTimestamp != nil:
		return "the Stack is being deleted"
	case w.Run.Spec.PullRequest != nil: // its PullRequest cancels it
		return ""
	case runinfo.Number(w.Stack.Status.LastRun) < runinfo.Number(w.Run.Name):
		// a view of the Stack from before this Run decides nothing
		return ""
	case runinfo.Number(w.Stack.Status.LastRun) > runinfo.Number(w.Run.Name):
		return "a newer Run of the Stack exists (" + w.Stack.Status.LastRun + "): a former leader created this one late"
	case !destroy && w.Stack.Status.InputsDigest != w.Run.Spec.InputsDigest:
		return "the inputs changed"
	case !destroy && holdEnded(w):
		return "it is of " + w.Stack.Status.EndedHold.Text()
	case destroy && !mayDestroy(w.Stack):
		return "spec.deletionPolicy is " + string(w.Stack.Spec.DeletionPolicy) + " now"
	}
	return replaced(w)
}

// holdEnded reports whether the Run requires something of a pull request that ended without a merge. The inputs can be
// the same, if the base has the same code by another way: nothing can meet the requirements then, and the next Run has
// the rules of the base.
func holdEnded(w Snapshot) bool {
	required, hold, ended := w.Run.Spec.Requirements, w.Stack.Status.Hold, w.Stack.Status.EndedHold
	if required == nil || ended == nil || ended.Number != required.PullRequest.Number {
		return false
	}
	return hold == nil || hold.Number != ended.Number // else a command applies it again
}

// mayDestroy reports whether spec.deletionPolicy allows the Stack's resources to be destroyed. Orphan is about what a
// deletion leaves, not about what a user asks for.
func mayDestroy(stack *v1alpha1.Stack) bool {
	switch stack.Spec.DeletionPolicy {
	case v1alpha1.DeletionProtect:
		return false
	case v1alpha1.DeletionOrphan:
		return stack.DeletionTimestamp == nil
	}
	return true
}
