package decision

import (
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// mostMessage is how many bytes the message of a condition has.
const mostMessage = 4096

// Failure is a Stack that could not be written.
type Failure struct {
	// Name is the Key of the Stack, and Action what was to be done with it.
	Name   string
	Action Action
	// Rejected: it fails until a user changes something.
	Rejected bool
	// Message is the error, and Advice what a user can do about it.
	Message, Advice string
}

func (f Failure) String() string {
	if f.Rejected {
		return fmt.Sprintf("the API server rejected Stack %s (%s): %s: %s", f.Name, f.Action, f.Message, f.Advice)
	}
	return fmt.Sprintf("Stack %s cannot be written (%s): %s: %s", f.Name, f.Action, f.Message, f.Advice)
}

// withFailures returns a decision with the failures of its writes: first those that a user has to end. A rollout that
// is paused remains the reason.
func withFailures(d Decision, failures []Failure) Decision {
	if len(failures) == 0 {
		return d
	}
	first := failures[max(0, slices.IndexFunc(failures, func(f Failure) bool { return f.Rejected }))]
	text := first.String() + "; it is tried again, at growing intervals of at most 5 minutes"
	if n := len(failures) - 1; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	if d.Reason == v1alpha1.ReasonRolloutPaused {
		d.Message += "; " + text
		return d
	}
	d.Ready, d.Reason, d.Message = metav1.ConditionFalse, v1alpha1.ReasonStackWriteFailed, text
	if d.Stalled = first.Rejected; d.Stalled {
		d.Reason = v1alpha1.ReasonStackRejected
	}
	return d
}

// Status is the status after the writes of a decision. Stacks that could not be written are in the condition.
func Status(w Snapshot, d Decision, failures []Failure) v1alpha1.StackSetStatus {
	d = withFailures(d, failures)
	s := d.Status
	set := func(kind string, value metav1.ConditionStatus) {
		c := metav1.Condition{
			Type: kind, Status: value, Reason: d.Reason, Message: runinfo.Clip(d.Message, mostMessage),
			ObservedGeneration: w.Set.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
		}
		was := apimeta.FindStatusCondition(s.Conditions, kind)
		if was != nil && was.Reason == c.Reason && len(failures) > 0 {
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
