package stack

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// orphaned is the newest Run whose plan left something out that an apply had made which was killed. An apply that went well
// ends it: whoever let it begin was told. Nil when there is none.
func orphaned(w World) *v1alpha1.Run {
	last := w.newest(func(r *v1alpha1.Run) bool { return r.Status.Plan != nil })
	if last == nil || len(last.Status.Plan.Orphaned) == 0 || (last.Status.Phase == v1alpha1.PhaseSucceeded && begun(last)) {
		return nil
	}
	return last
}

// untrackedCondition is UntrackedResources; nil when it is to go.
func untrackedCondition(w World) *metav1.Condition {
	r := orphaned(w)
	if r == nil {
		return nil
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionUntrackedResources, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNotImported,
		Message:            runinfo.Orphans(r.Status.Plan) + "; the log of Run " + r.Name + " has its ID",
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
}

// unreadableAgain is when to look again whether a person has done something about a journal: no event tells it.
const unreadableAgain = time.Minute

// journalIsUnreadable: nobody can tell whether there is something that no state knows, so nothing is let go of.
func journalIsUnreadable(w World) (Decision, bool) {
	if w.Unreadable == "" {
		return Decision{}, false
	}
	d, ok := stalled(v1alpha1.ReasonDestroyIncomplete, "%s; to leave what is left as it is, set spec.deletionPolicy to Orphan", w.Unreadable)
	d.RequeueAfter = unreadableAgain
	return d, ok
}
