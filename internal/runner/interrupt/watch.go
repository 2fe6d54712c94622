package interrupt

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// CanceledError is why an attempt ends that a user canceled.
type CanceledError struct{ Reason string }

func (e *CanceledError) Error() string { return e.Reason }

// Watcher asks the server during an attempt whether that is to stop.
type Watcher struct {
	Client *runnerapi.Client
	Log    *slog.Logger
	// Clean returns the reason of a cancel in a form that is fit to be shown.
	Clean func(string) string
	// DisownedAfter is how long the server has to reject every request; the constant of that name when zero.
	DisownedAfter time.Duration
}

// Start calls stop with the reason when the attempt is to stop. The function that it returns ends the watch and waits
// for that.
func (w Watcher) Start(ctx context.Context, stop context.CancelCauseFunc) func() {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if why := w.wait(ctx); why != nil {
			stop(why)
		}
	}()
	return func() { cancel(); <-over }
}

// wait returns why the attempt is to stop, or nil once ctx is over. The server holds each request while the answer is
// no; one that does not must not be flooded. While it is away it is asked less and less often, as long as the attempt
// lasts.
func (w Watcher) wait(ctx context.Context) error {
	client := w.Client.Impatient(0)
	var rejected Rejections
	for failures := 0; ; {
		asked := time.Now()
		interrupt, err := client.Interrupt(ctx)
		rejected.Record(err)
		switch {
		case interrupt != nil:
			return &CanceledError{cmp.Or(w.Clean(interrupt.Reason), "canceled")}
		case ctx.Err() != nil:
			return nil
		case rejected.Last(cmp.Or(w.DisownedAfter, DisownedAfter)):
			return ErrDisowned
		}
		pause := shortestPause - time.Since(asked)
		if err == nil {
			failures = 0
		} else {
			if failures == 0 {
				w.Log.Warn("cancels are not received for now", "error", err)
			}
			pause = Backoff(failures)
			failures++
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}
