// Package interrupt ends an attempt early: when the runner is to stop, when a user canceled the Run, and when the
// server rejects the runner. What saves a state outlives that.
package interrupt

import (
	"context"
	"errors"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// ErrStopping is why an attempt ends when the runner is to stop.
var ErrStopping = errors.New(runnerapi.Interrupted)

// WithInterrupt returns a context to run with, and the function that interrupts it: the attempt under way ends as
// soon as the engine has saved its state, and is reported.
func WithInterrupt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, func() { cancel(ErrStopping) }
}

// Grace is how long each request to the server may still take once the runner is to stop: the pod's own grace period
// ends at some time, and what was not sent by then is lost.
const Grace = time.Minute

// Outlive returns a context that ends Grace after ctx, or that long after now if ctx is over already.
func Outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(Grace, cancel)
		context.AfterFunc(after, func() { timer.Stop() })
	})
	return after, func() { stop(); cancel() }
}
