package server

import (
	"context"
	"log/slog"
	"net/http"

	"cairn.dev/cairn/internal/metacontroller"
	"cairn.dev/cairn/internal/server/servermetrics"
)

// MetacontrollerOptions of a Metacontroller. All of them are needed, but for those that say otherwise.
type MetacontrollerOptions struct {
	// Address to listen on. Example: :8082.
	Address string
	// Metrics count hooks; nil for none.
	Metrics *servermetrics.Metrics
	// Log gets a line for each request at debug.
	Log *slog.Logger
}

// Metacontroller is the HTTP server for metacontroller's hooks. It has an address of its own, so that a NetworkPolicy can keep all others from
// it. It asks for no credentials: an answer is made from its request alone, so nobody learns anything here that he did not bring.
type Metacontroller struct{ MetacontrollerOptions }

// NewMetacontroller makes a Metacontroller that does not listen yet.
func NewMetacontroller(o MetacontrollerOptions) *Metacontroller { return &Metacontroller{o} }

// NeedLeaderElection says that every process may serve.
func (s *Metacontroller) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx is done, and then for as long as the requests under way need, up to 10 s.
func (s *Metacontroller) Start(ctx context.Context) error {
	return servePlain(ctx, s.Address, s.Handler(), s.Log)
}

// Handler has the hooks, and nothing else.
func (s *Metacontroller) Handler() http.Handler {
	return metacontroller.NewHandler(metacontroller.HandlerOptions{Log: s.Log, Told: s.Metrics.MetacontrollerHook})
}
