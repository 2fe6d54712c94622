package runner

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"cairn.dev/cairn/internal/store"
)

// canceled is the class of an attempt that somebody canceled: it is not tried again.
const canceled = "Canceled"

// canceledError is why an attempt ends that somebody canceled.
type canceledError struct{ reason string }

func (e *canceledError) Error() string { return e.reason }

// How soon the store is asked again whether the attempt is to stop. It holds the question while the answer is no; one
// that does not must not be flooded. While it is away it is asked less and less often, as long as the attempt lasts.
const (
	heedPace  = 500 * time.Millisecond
	heedPause = 5 * time.Second
)

// heed asks the store beside the work whether it is to stop, and stops it with the reason. What it gives ends the asking
// and waits for that.
func (a *attempt) heed(ctx context.Context, stop context.CancelCauseFunc) func() {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if why := a.interrupted(ctx); why != nil {
			stop(&canceledError{cmp.Or(a.clean(why.Reason), "canceled")})
		}
	}()
	return func() { cancel(); <-over }
}

// interrupted gives why the attempt is to stop, or nothing once ctx is over.
func (a *attempt) interrupted(ctx context.Context) *store.Interrupt {
	client := a.client.Impatient(0)
	for fails := 0; ; {
		asked := time.Now()
		interrupt, err := client.Interrupt(ctx)
		if interrupt != nil || ctx.Err() != nil {
			return interrupt
		}
		wait := heedPace - time.Since(asked)
		if err == nil {
			fails = 0
		} else {
			if fails == 0 {
				a.Log.Warn("cancels are not heard of for now", "error", err)
			}
			full := min(heedPace<<min(fails, 10), heedPause)
			wait = full/2 + rand.N(full/2) //nolint:gosec // spreads load, guards nothing
			fails++
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}
