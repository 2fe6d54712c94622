package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Plain serves a handler over plain HTTP: behind an Ingress, which has the certificate, or to pods that a NetworkPolicy
// selects.
type Plain struct {
	// Address to listen on. Example: :8080.
	Address string
	// Handler of the requests.
	Handler http.Handler
	// Log gets errors of connections at debug.
	Log *slog.Logger
}

// NeedLeaderElection returns false: every process may serve.
func (s *Plain) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx is done. Then open requests have up to 10 s to end.
func (s *Plain) Start(ctx context.Context) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.Address, err)
	}
	web := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	return waitAndShutDown(ctx, web, served)
}

// waitAndShutDown waits until a server fails or ctx is done, and then shuts it down: open requests have up to 10 s to
// end.
func waitAndShutDown(ctx context.Context, web *http.Server, served <-chan error) error {
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := web.Shutdown(draining)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests cut off: %w", err), web.Close())
	}
	<-served //nolint:errcheck // http.ErrServerClosed, after Shutdown
	return err
}
