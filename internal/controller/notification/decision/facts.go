// Package decision decides which messages a Notification sends. It is pure.
package decision

import (
	"slices"
	"strconv"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// Stack is what messages need to know of a Stack, or of a namespace, which has no name.
type Stack struct {
	Namespace, Name string
	UID             types.UID
	// Ready is whether the Stack is Ready, which a failure ends with.
	Ready bool
	// Events are those that are true, and the applies and destroys that the Stack still knows.
	Events []Event
}

// Event is something that happened to a Stack.
type Event struct {
	Kind v1alpha1.NotificationEvent
	// Key distinguishes it from others of the same kind of the Stack.
	Key string
	// Reason, Run and Message describe it; the first two may be empty.
	Reason, Run, Message string
	// At is when a Run finished; only of applies and destroys.
	At time.Time
}

const (
	// longestMessage is how many bytes of the message of a Stack are in a message.
	longestMessage = 300
	// longestContention is enough for both writers, and longestMassDrift for what a user has to do.
	longestContention = 600
	longestMassDrift  = 1000
)

// OfNamespace returns what messages need to know of a namespace: whether its corrections of drift are paused.
func OfNamespace(p *v1alpha1.DriftPause) Stack {
	known := Stack{Namespace: p.Namespace, UID: p.UID}
	ready := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if p.Status.Since != nil && ready != nil {
		known.Events = []Event{{
			Kind: v1alpha1.NotifyMassDrift, Key: strconv.FormatInt(p.Status.Since.Unix(), 10), Reason: ready.Reason,
			Message: shorten.Line(ready.Message, longestMassDrift),
		}}
	}
	return known
}

// Of returns what messages need to know of a Stack.
func Of(s *v1alpha1.Stack) Stack {
	known := Stack{Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || !s.Status.Observed() {
		return known
	}
	known.Ready = ready.Status == metav1.ConditionTrue
	text := shorten.Line(ready.Message, longestMessage)
	reason, _ := v1alpha1.ReasonNamed(ready.Reason)
	switch {
	case known.Ready:
	case reason.WaitsFor == v1alpha1.WaitsForApproval:
		known.Events = append(known.Events, Event{
			Kind: v1alpha1.NotifyApprovalNeeded, Key: s.Status.CurrentRun, Reason: ready.Reason,
			Run: s.Status.CurrentRun, Message: text,
		})
	case reason.Severity == v1alpha1.SeverityError:
		known.Events = append(known.Events, Event{
			Kind: v1alpha1.NotifyFailed, Key: ready.Reason + "/" + s.Status.InputsDigest, Reason: ready.Reason,
			Run: s.Status.LastRun, Message: text,
		})
	}
	drifted := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionDrifted)
	if d := s.Status.Drift; d != nil && d.Since != nil && drifted != nil && drifted.Status == metav1.ConditionTrue {
		known.Events = append(known.Events, Event{
			Kind: v1alpha1.NotifyDriftFound, Key: strconv.FormatInt(d.Since.Unix(), 10), Reason: drifted.Reason,
			Run:     d.Run,
			Message: shorten.Line(drifted.Message, longestMessage),
		})
	}
	if c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionContended); c != nil &&
		c.Status == metav1.ConditionTrue {
		known.Events = append(known.Events, Event{
			Kind: v1alpha1.NotifyContended, Key: strconv.FormatInt(c.LastTransitionTime.Unix(), 10), Reason: c.Reason,
			Message: shorten.Line(c.Message, longestContention),
		})
	}
	known.Events = append(known.Events, finished(s.Status.History)...)
	return known
}

// finished returns the applies and destroys of a history.
func finished(history []v1alpha1.PastRun) (events []Event) {
	for _, run := range history {
		if !run.Applied || run.FinishedAt == nil {
			continue
		}
		event := Event{Kind: v1alpha1.NotifyApplied, Key: string(run.UID), Run: run.Name, At: run.FinishedAt.Time}
		switch run.Operation {
		case v1alpha1.OperationApply:
			event.Message = "applied"
		case v1alpha1.OperationDestroy:
			event.Kind, event.Message = v1alpha1.NotifyDestroyed, "destroyed"
		default:
			continue
		}
		events = append(events, event)
	}
	return events
}

// Equivalent reports whether a change of a Stack changes nothing that a message is about.
func Equivalent(before, after *v1alpha1.Stack) bool {
	a, b := Of(before), Of(after)
	return a.Ready == b.Ready && slices.Equal(a.Events, b.Events)
}

// event returns the event of a kind; of applies and destroys that with a key.
func (s Stack) event(kind v1alpha1.NotificationEvent, key string) (Event, bool) {
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Kind == kind && (e.At.IsZero() || e.Key == key) })
	if i < 0 {
		return Event{}, false
	}
	return s.Events[i], true
}
