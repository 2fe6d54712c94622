package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Description is all that one screen says of a Stack or of a Run.
type Description struct {
	// Stack; nil for a Run whose Stack is gone, or may not be seen.
	Stack *v1alpha1.Stack
	// Run under way, or else the last one; the one that is described when Alone. Nil when there never was one.
	Run *v1alpha1.Run
	// Alone says that the Run is what is described, and not its Stack.
	Alone bool
	// Runs of the Stack, newest first.
	Runs []v1alpha1.Run
	// State of the Stack; nil when it has none.
	State *v1alpha1.State
	// Events of the Stack and the Run.
	Events []corev1.Event
}

// How much of what may be long is shown.
const (
	mostChanges  = 10
	mostFindings = 10
	mostRuns     = 5
	mostEvents   = 8
)

// Write draws the screen.
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

// standing is a Stack's readiness in a few words.
func (d Description) standing(s Style) string {
	ready := Ready(d.Stack)
	words := or(ready.Reason, "New")
	switch {
	case d.Stack.DeletionTimestamp != nil:
		words = s.paint(yellow, "is being deleted: "+words)
	case ready.Status == "True":
		words = s.paint(green, "Ready: "+words)
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		words = s.paint(red, "not Ready, and will not be before somebody acts: "+words)
	default:
		words = s.paint(yellow, "not Ready: "+words)
	}
	if !ready.LastTransitionTime.IsZero() {
		words += ", for " + s.age(ready.LastTransitionTime.Time)
	}
	return words
}

// count is a number of things.
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// waits says for whom or what nothing goes on.
func (d Description) waits(s Style) string {
	if d.Run != nil && !Phase(d.Run).Finished() {
		return runWaits(d.Run, s)
	}
	if d.Alone || d.Stack == nil {
		return ""
	}
	ready := Ready(d.Stack)
	switch {
	case ready.Reason == v1alpha1.ReasonSuspended:
		return "somebody who resumes it"
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		return "somebody who acts"
	}
	for _, waits := range []string{"waits for ", "waits until "} {
		if what, ok := strings.CutPrefix(Clean(ready.Message), waits); ok {
			return what
		}
	}
	return ""
}

func (d Description) lastRuns(p *page) {
	first := true
	for i := range min(len(d.Runs), mostRuns+1) {
		r := &d.Runs[i]
		if d.Run != nil && r.Name == d.Run.Name {
			continue
		}
		if first {
			p.title("Runs before")
			first = false
		}
		p.row("  "+r.Name, p.sty.age(r.CreationTimestamp.Time), string(r.Spec.Operation), causeInShort(r), string(Phase(r)), Clean(Succeeded(r).Message))
	}
}

func (d Description) events(p *page) {
	if len(d.Events) == 0 {
		return
	}
	events := slices.Clone(d.Events)
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return cmp.Compare(eventTime(a).UnixNano(), eventTime(b).UnixNano()) })
	p.title("Events")
	for _, e := range events[max(0, len(events)-mostEvents):] {
		kind := p.sty.paint(plain, e.Type)
		if e.Type == corev1.EventTypeWarning {
			kind = p.sty.paint(yellow, e.Type)
		}
		p.row("  "+p.sty.age(eventTime(e)), kind, e.Reason, e.InvolvedObject.Name, Clean(e.Message))
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
