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

// servePlain serves plain HTTP until ctx is done, and then for as long as the requests under way need, up to 10 s.
func servePlain(ctx context.Context, address string, handler http.Handler, log *slog.Logger) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	web := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err = web.Shutdown(draining); err != nil {
		err = errors.Join(fmt.Errorf("requests cut off: %w", err), web.Close())
	}
	<-served //nolint:errcheck // http.ErrServerClosed, as asked
	return err
}
