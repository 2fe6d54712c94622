package screen

import (
	"cmp"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Description is the description of a Stack or of a Run.
type Description struct {
	// Stack; nil for a Run whose Stack was deleted or may not be read.
	Stack *v1alpha1.Stack
	// Run is the active or else the last Run of the Stack; with Alone the described Run. Nil if there is none.
	Run *v1alpha1.Run
	// Alone is true to describe the Run, and not its Stack.
	Alone bool
	// Runs of the Stack, newest first.
	Runs []v1alpha1.Run
	// State of the Stack; nil if it has none.
	State *v1alpha1.State
	// Events of the Stack and the Run.
	Events []corev1.Event
}

// Limits of lists in a description.
const (
	maxChanges  = 10
	maxFindings = 10
	maxRuns     = 5
	maxEvents   = 8
)

// Write prints the description.
func (d Description) Write(w io.Writer, s Style) error {
	p := newPage(w, s)
	if d.Alone {
		d.headRun(p)
	} else {
		d.headStack(p)
	}
	if d.Run != nil {
		d.run(p)
	}
	if !d.Alone {
		d.lastRuns(p)
	}
	d.events(p)
	d.next(p)
	return p.end()
}

// readiness summarizes the condition Ready of a Stack.
func (d Description) readiness(s Style) string {
	ready := Ready(d.Stack)
	words := cmp.Or(ready.Reason, "New")
	switch {
	case d.Stack.DeletionTimestamp != nil:
		words = s.paint(yellow, "is being deleted: "+words)
	case ready.Status == "True":
		words = s.paint(green, "Ready: "+words)
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		words = s.paint(red, "not Ready, needs a user's action: "+words)
	default:
		words = s.paint(yellow, "not Ready: "+words)
	}
	if !ready.LastTransitionTime.IsZero() {
		words += ", for " + s.age(ready.LastTransitionTime.Time)
	}
	return words
}

// waitsFor returns what the Run or the Stack waits for; empty if it does not wait.
func (d Description) waitsFor(s Style) string {
	if d.Run != nil && !Phase(d.Run).Finished() {
		return runWaitsFor(d.Run, s)
	}
	if d.Alone || d.Stack == nil {
		return ""
	}
	switch reason, _ := v1alpha1.ReasonNamed(Ready(d.Stack).Reason); {
	case reason.WaitsFor == v1alpha1.WaitsForResume:
		return "a user who resumes it"
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		return "an action of a user"
	}
	return ""
}

func (d Description) lastRuns(p *page) {
	first := true
	for i := range min(len(d.Runs), maxRuns+1) {
		r := &d.Runs[i]
		if d.Run != nil && r.Name == d.Run.Name {
			continue
		}
		if first {
			p.title("Earlier Runs")
			first = false
		}
		p.row("  "+r.Name, p.style.age(r.CreationTimestamp.Time), string(r.Spec.Operation), causeInShort(r),
			string(Phase(r)), Clean(Succeeded(r).Message))
	}
}

func (d Description) events(p *page) {
	if len(d.Events) == 0 {
		return
	}
	events := slices.Clone(d.Events)
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	p.title("Events")
	for _, e := range events[max(0, len(events)-maxEvents):] {
		kind := p.style.paint(plain, e.Type)
		if e.Type == corev1.EventTypeWarning {
			kind = p.style.paint(yellow, e.Type)
		}
		message := Clean(e.Message)
		if d.Stack != nil && e.Message == Ready(d.Stack).Message {
			message = "see above"
		}
		p.row("  "+p.style.age(eventTime(e)), kind, e.Reason, e.InvolvedObject.Name, message)
	}
}

func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
