package stack

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/run/runinfo"
)

// The API server may refuse a Run that the status names: for a quota of its kind, or since a webhook wants none. It is tried again and
// again, more and more rarely, and what the status says meanwhile is that it cannot be made, and not that it is under way.

// unmade is how that begins.
func unmade(name string) string { return "Run " + name + " cannot be made: " }

// asRefused goes on to say that a Run could not be made, until it is.
func asRefused(w World, d Decision) Decision {
	said := readyOf(w.Stack.Status)
	if d.Start != nil && w.Stack.Status.CurrentRun == d.Name && said.Reason == d.Reason && strings.HasPrefix(said.Message, unmade(d.Name)) {
		d.Message = said.Message
	}
	return d
}

// tellRefused says why a Run cannot be made, and gives that back. Of one that only looks an event says it: what Ready says goes on to be true.
func (r *Reconciler) tellRefused(ctx context.Context, w World, d Decision, why error) error {
	if !run.IsRefusal(why) {
		return why
	}
	said := readyOf(w.Stack.Status)
	message := runinfo.Steady(said.Message, unmade(d.Name)+why.Error())
	if message == said.Message {
		return why
	}
	r.Events.say(w, corev1.EventTypeWarning, v1alpha1.EventRunCreateFailed, "Reconcile", message)
	if d.Reason != v1alpha1.ReasonRunning && d.Reason != v1alpha1.ReasonDestroying {
		return why
	}
	d.Message = message
	_, err := r.report(ctx, w, d)
	return errors.Join(why, err)
}
