package server

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"cairn.dev/cairn/web"
)

// protect sets what keeps a browser from doing with an answer of the API anything but give it to who asked.
func protect(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// addSite adds all that browsers get: the API for people, how they sign in, and the page for all else.
func (s *Server) addSite(mux router) {
	s.addPeople(mux)
	s.addSignIn(mux)
	for _, path := range []string{"/api/", "/v1/", "/hooks/", "/signin/"} {
		mux.Handle(path, s.answerNobody(func(_ http.ResponseWriter, r *http.Request) error {
			return refusef(http.StatusNotFound, "there is no %.200s", r.URL.Path)
		}))
	}
	mux.Handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	page := web.Handler()
	mux.Handle("/", page)
	mux.Handle("/signin", page) // or it would be taken for /signin/
}

// PeopleHandler has all that people are answered, and nothing of runners.
func (s *Server) PeopleHandler() http.Handler {
	mux := http.NewServeMux()
	s.addSite(mux)
	return s.Metrics.measure(mux)
}

// traced is from where a request came, and the trace that it is of. What a proxy says of who is behind it is its word.
func traced(r *http.Request) []any {
	facts := []any{"from", r.RemoteAddr}
	if behind := r.Header.Get("X-Forwarded-For"); behind != "" {
		facts = append(facts, "forwardedFor", shortened(behind, 200))
	}
	of := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	if of.HasTraceID() {
		facts = append(facts, "traceID", of.TraceID().String())
	}
	return facts
}
