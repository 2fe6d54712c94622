package decision

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// mostMessage is how many bytes the message of a condition has.
const mostMessage = 4096

// Rejection is a Stack that the API server rejected.
type Rejection struct{ Name, Message string }

// Status is the status after the writes of a decision. Rejected Stacks are in the condition, unless the set waits for
// more than these.
func Status(w Snapshot, d Decision, rejected []Rejection) v1alpha1.StackSetStatus {
	if len(rejected) > 0 && d.Reason != v1alpha1.ReasonRolloutPaused {
		d.Ready, d.Reason, d.Stalled = metav1.ConditionFalse, v1alpha1.ReasonStackRejected, true
		d.Message = fmt.Sprintf("the API server rejected Stack %s: %s", rejected[0].Name, rejected[0].Message)
		if n := len(rejected) - 1; n > 0 {
			d.Message += fmt.Sprintf("; and %d more", n)
		}
	}
	s := d.Status
	set := func(kind string, value metav1.ConditionStatus) {
		c := metav1.Condition{
			Type: kind, Status: value, Reason: d.Reason, Message: runinfo.Clip(d.Message, mostMessage),
			ObservedGeneration: w.Set.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
		}
		was := apimeta.FindStatusCondition(s.Conditions, kind)
		if was != nil && was.Reason == c.Reason && c.Reason == v1alpha1.ReasonStackRejected {
			c.Message = runinfo.KeepIfEquivalent(was.Message, c.Message)
		}
		apimeta.SetStatusCondition(&s.Conditions, c)
	}
	set(v1alpha1.ConditionReady, d.Ready)
	if d.Stalled {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
	} else {
		apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
	}
	return s
}
