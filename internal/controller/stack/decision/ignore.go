package decision

import (
	"cmp"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
)

// The rule for spec.drift.ignore. It decides what counts as drift, and nothing else: no plan and no apply knows it. It
// is evaluated again for each decision, so an entry that a user adds, or that ends, counts without another check.

// activeEntries are the entries of spec.drift.ignore that have not ended.
func activeEntries(w Snapshot) (active []v1alpha1.IgnoredDrift) {
	if w.Stack.Spec.Drift == nil {
		return nil
	}
	for _, e := range w.Stack.Spec.Drift.Ignore {
		if e.Until == nil || e.Until.After(w.Now) {
			active = append(active, e)
		}
	}
	return active
}

// ignoreEnds is how long it is until the first entry ends while a difference is ignored; 0 when none does.
func ignoreEnds(w Snapshot) (first time.Duration) {
	if drift := driftStatus(w); drift == nil || drift.Ignored == 0 {
		return 0
	}
	for _, e := range activeEntries(w) {
		if e.Until != nil {
			first = Sooner(first, e.Until.Sub(w.Now))
		}
	}
	return first
}

// ignored returns the drift with the differences that entries ignore marked, and the counts of the others. All
// differences have to be known.
func ignored(drift v1alpha1.DriftStatus, entries []v1alpha1.IgnoredDrift) *v1alpha1.DriftStatus {
	var counting engine.Changes
	all := make([]v1alpha1.DriftDifference, 0, len(drift.Differences))
	drift.Ignored = 0
	for _, d := range drift.Differences {
		if d.Ignored = ignoredFor(d.Difference, entries); d.Ignored != "" {
			drift.Ignored++
		} else {
			counting = append(counting, engine.ResourceChange{Address: d.Address, Action: engine.Action(d.Action)})
		}
		all = append(all, d)
	}
	drift.Differences = all
	n := withoutOutputs(counting).Counts()
	drift.Add, drift.Change, drift.Destroy, drift.Replace = n.Add, n.Change, n.Destroy, n.Replace
	switch {
	case len(counting) == 0:
		drift.Since = nil
	case drift.Since == nil: // it did not count before
		drift.Since = &drift.CheckedAt
	}
	return &drift
}

// withoutOutputs are the changes that a summary counts.
func withoutOutputs(all engine.Changes) (resources engine.Changes) {
	for _, c := range all {
		if !strings.HasPrefix(c.Address, "output.") {
			resources = append(resources, c)
		}
	}
	return resources
}

// ignoredFor is why entries ignore a difference; empty if it counts. An update is ignored if entries for the resource
// list all that it changes, and any change by an entry without attributes.
func ignoredFor(d v1alpha1.Difference, entries []v1alpha1.IgnoredDrift) string {
	var reason string
	left := map[string]bool{}
	for _, a := range d.Attributes {
		left[a] = true
	}
	for _, e := range entries {
		if !anyMatches(e.Addresses, d.Address) {
			continue
		}
		if len(e.Attributes) == 0 {
			return e.Reason
		}
		for a := range left {
			if isWithin(e.Attributes, a) {
				delete(left, a)
				reason = cmp.Or(reason, e.Reason)
			}
		}
	}
	if d.Action != string(engine.Update) || len(d.Attributes) == 0 || len(left) > 0 {
		return ""
	}
	return reason
}

// isWithin reports whether a pattern matches the path of an attribute, or of a value that it is in.
func isWithin(patterns []string, path string) bool {
	for i := range path {
		if i > 0 && (path[i] == '.' || path[i] == '[') && anyMatches(patterns, path[:i]) {
			return true
		}
	}
	return anyMatches(patterns, path)
}

func anyMatches(patterns []string, text string) bool {
	for _, p := range patterns {
		if matches(p, text) {
			return true
		}
	}
	return false
}

// matches reports whether a text is a pattern in which each * stands for any characters.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}
