// Package massdrift decides whether an unusual number of the Stacks of a namespace began to drift at the same time, and
// whether the corrections of drift are paused there. It is pure.
package massdrift

import (
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	// window is the time within which the begins of drift are counted.
	window = time.Hour
	// horizon is how long after it ended a window is examined: longer than an operator is expected to be down.
	horizon = 24 * time.Hour
	// mostNamed is how many Stacks a Finding names.
	mostNamed = 10
)

// Limits are what an installation considers unusual.
type Limits struct {
	// Percent is the share of the Stacks that were checked; more than that is unusual. 0 turns the detection off.
	Percent int
	// Stacks is the smallest number of Stacks that is unusual.
	Stacks int
}

// Stack is what is known of the drift of a Stack.
type Stack struct {
	Name string
	// CheckedAt is when a Run last planned what is applied; zero for never.
	CheckedAt time.Time
	// Starts are the last begins of drift.
	Starts []time.Time
}

// Of returns what is known of the drift of a Stack.
func Of(s *v1alpha1.Stack) Stack {
	known := Stack{Name: s.Name}
	if d := s.Status.Drift; d != nil {
		known.CheckedAt = d.CheckedAt.Time
		for _, start := range d.Starts {
			known.Starts = append(known.Starts, start.Time.Time)
		}
	}
	return known
}

// Finding is an unusual number of Stacks that began to drift.
type Finding struct {
	// Drifted is how many Stacks began to drift within an hour, and Checked how many were checked in it or later.
	Drifted, Checked int
	// Stacks are the names of the first of them, sorted.
	Stacks []string
}

// Find returns the hour in which most Stacks of a namespace began to drift, if that is an unusual number. Nothing
// counts that began until a time: a user resumed then.
//
// The share is that of the Stacks which were checked since the hour began. The checks of a namespace are spread over
// the drift interval, so that with 12h an outage shows within an hour in a twelfth of the Stacks, which is less than a
// share of 10 % of all.
func Find(stacks []Stack, resumed, now time.Time, limits Limits) (Finding, bool) {
	if limits.Percent <= 0 {
		return Finding{}, false
	}
	var found Finding
	for _, end := range ends(stacks, resumed, now) {
		if f := within(stacks, end, resumed); f.isUnusual(limits) && f.Drifted > found.Drifted {
			found = f
		}
	}
	return found, found.Drifted > 0
}

// isUnusual compares a number with the limits, of which the second one prevents that one of three Stacks is many.
func (f Finding) isUnusual(limits Limits) bool {
	return f.Drifted >= max(limits.Stacks, 1) && f.Drifted*100 > f.Checked*limits.Percent
}

// ends are the times at which a window can end: the begins of drift that count.
func ends(stacks []Stack, resumed, now time.Time) (ends []time.Time) {
	for _, s := range stacks {
		for _, start := range s.Starts {
			if start.After(resumed) && start.After(now.Add(-horizon)) {
				ends = append(ends, start)
			}
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return slices.CompactFunc(ends, time.Time.Equal)
}

// within counts the Stacks that began to drift in the window that ends at a time.
func within(stacks []Stack, end, resumed time.Time) (f Finding) {
	begin := end.Add(-window)
	for _, s := range stacks {
		began := slices.ContainsFunc(s.Starts, func(start time.Time) bool {
			return start.After(begin) && !start.After(end) && start.After(resumed)
		})
		if began {
			f.Drifted++
			f.Stacks = append(f.Stacks, s.Name)
		}
		if began || s.CheckedAt.After(begin) {
			f.Checked++
		}
	}
	slices.Sort(f.Stacks)
	f.Stacks = f.Stacks[:min(len(f.Stacks), mostNamed)]
	return f
}

// Paused reports whether a DriftPause, nil for none, pauses the corrections of its namespace. One whose status is not
// written yet does.
func Paused(p *v1alpha1.DriftPause) bool {
	return p != nil && (p.Status.Since != nil || p.Status.Resumed == nil)
}

// ResumedAt is until when the begins of drift do not count.
func ResumedAt(p *v1alpha1.DriftPause) time.Time {
	if p == nil || p.Status.Resumed == nil {
		return time.Time{}
	}
	return p.Status.Resumed.Time.Time
}
