package stackset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// mostNamed is how many Stacks or fields an event names.
const mostNamed = 5

// record records what was written: one event for all Stacks of an action.
func (r *Reconciler) record(w decision.Snapshot, out outcome) {
	for _, what := range []struct {
		action       decision.Action
		reason, text string
	}{
		{decision.Create, v1alpha1.EventStacksCreated, "created"},
		{decision.Change, v1alpha1.EventStacksChanged, "changed"},
		{decision.Suspend, v1alpha1.EventStacksSuspended, "suspended, not generated any more"},
		{decision.Delete, v1alpha1.EventStacksDeleted, "deleted, as a user confirmed"},
	} {
		if names := out.done[what.action]; len(names) > 0 {
			slices.Sort(names)
			r.Events.Eventf(w.Set, nil, corev1.EventTypeNormal, what.reason, string(what.action), "%s %s: %s",
				shorten.Count(len(names), "Stack"), what.text, shorten.List(names, mostNamed))
		}
	}
	if len(out.restored) == 0 {
		return
	}
	var fields []string
	for _, f := range out.restored {
		text := f.field + " of Stack " + f.stack
		if f.manager != "" {
			text += " (changed by " + f.manager + ")"
		}
		fields = append(fields, text)
	}
	slices.Sort(fields)
	r.Events.Eventf(w.Set, nil, corev1.EventTypeNormal, v1alpha1.EventFieldsRestored, string(decision.Change),
		"restored from the template: %s", shorten.List(fields, mostNamed))
}
