package server

import (
	"context"
	"log/slog"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server/servermetrics"
	"cairn.dev/cairn/internal/server/webhook"
	"cairn.dev/cairn/internal/tracing"
)

// WebOptions of a Web. All of them are needed, but for those that say otherwise.
type WebOptions struct {
	// Address to listen on. Example: :8080.
	Address string
	// Cache has the Repositories.
	Cache client.Reader
	// Client reads the Secrets of webhooks, and asks for fetches.
	Client client.Client
	// People has what people are answered; nil for nothing.
	People http.Handler
	// Metrics count webhooks; nil for none.
	Metrics *servermetrics.Metrics
	// Traces get a span for each push; nil for none.
	Traces *tracing.Tracer
	// Log gets a line for each request at debug, and its errors at warn.
	Log *slog.Logger
}

// Web is the HTTP server for forges, and for people with browsers. It speaks plain HTTP: what is in front of it, such as an
// Ingress, has the certificate that the world knows. Runners are not served here.
type Web struct{ WebOptions }

// NewWeb makes a Web that does not listen yet.
func NewWeb(o WebOptions) *Web { return &Web{o} }

// NeedLeaderElection says that every process may serve.
func (s *Web) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx is done, and then for as long as the requests under way need, up to 10 s.
func (s *Web) Start(ctx context.Context) error {
	return servePlain(ctx, s.Address, s.Handler(), s.Log)
}

// Handler has all that forges are answered and, if there is such a thing here, what people are.
func (s *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	if s.People != nil {
		mux.Handle("/", s.People)
	}
	mux.Handle("/hooks/", webhook.New(webhook.Options{Secrets: s.hookSecrets, Wake: s.fetchSoon, Told: s.Metrics.Webhook, Log: s.Log}))
	return mux
}
