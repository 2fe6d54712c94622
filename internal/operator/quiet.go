package operator

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"
)

// quietOnceDone is a log without what was canceled because the process ends: that is no error, and each reconcile
// under way would log one.
func quietOnceDone(ctx context.Context, log logr.Logger) logr.Logger {
	return logr.FromSlogHandler(quiet{logr.ToSlogHandler(log), ctx})
}

type quiet struct {
	slog.Handler
	process context.Context
}

// Handle passes a record on.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if q.process.Err() != nil && r.Level >= slog.LevelWarn && tellsOfCancel(r) {
		r = r.Clone()
		r.Level = slog.LevelDebug
		if !q.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return q.Handler.Handle(ctx, r)
}

// WithAttrs and WithGroup keep it quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.process}
}

// WithGroup is WithAttrs for a group.
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.process}
}

func tellsOfCancel(r slog.Record) (canceled bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		canceled = ok && errors.Is(err, context.Canceled)
		return !canceled
	})
	return canceled
}
