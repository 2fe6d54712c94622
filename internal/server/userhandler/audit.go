package userhandler

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/server/auth"
)

// auditedUnless is audited for who may not, too: err is why.
func (s *API) auditedUnless(err error, need auth.Right, h handler) handler {
	return s.audited(need, func(w http.ResponseWriter, r *http.Request, a ask) error {
		if err != nil {
			return err
		}
		return h(w, r, a)
	})
}

// audited writes a line for what a user wants to do, or to read in clear, whether or not it succeeds.
func (s *API) audited(need auth.Right, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, a ask) error {
		var facts []any
		a.facts = &facts
		err := h(w, r, a)
		real := ""
		if a.Real != nil {
			real = a.Real.GetName()
		}
		log := s.Log.With(traced(r)...).With("by", a.GetName(), "impersonatedBy", real, "method", a.Method,
			"verb", need.Verb,
			"resource", need.Resource, "namespace", a.Namespace, "name", a.Name).With(facts...)
		if err != nil {
			s.Metrics.UserAction(need.Resource, need.Verb, "failed")
			log.Warn("audit: not done", "error", err)
		} else {
			s.Metrics.UserAction(need.Resource, need.Verb, "success")
			log.Info("audit: done")
		}
		return err
	}
}

// recordEvent records on a State what a user did to it.
func (s *API) recordEvent(ctx context.Context, a ask, reason, action, format string, args ...any) {
	if s.Events == nil {
		return
	}
	st := &v1alpha1.State{}
	if err := s.Live.Get(ctx, a.NamespacedName, st); err != nil {
		return // the audit line has it too
	}
	did := fmt.Sprintf(format, args...)
	s.Events.Eventf(st, nil, corev1.EventTypeNormal, reason, action, "%s %s", a.User.String(), did)
}

// traced is from where a request came, and the trace that it is of. What a proxy reports of its client is not
// verified.
func traced(r *http.Request) []any {
	facts := []any{"from", r.RemoteAddr}
	if behind := r.Header.Get("X-Forwarded-For"); behind != "" {
		facts = append(facts, "forwardedFor", shorten.Line(behind, 200))
	}
	in := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	of := trace.SpanContextFromContext(in)
	if of.HasTraceID() {
		facts = append(facts, "traceID", of.TraceID().String())
	}
	return facts
}
