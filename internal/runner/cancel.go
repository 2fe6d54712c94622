package runner

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/store"
)

// canceled is the class of an attempt that somebody canceled: it is not tried again.
const canceled = store.FailureCanceled

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
			stop(why)
		}
	}()
	return func() { cancel(); <-over }
}

// errDisowned is why an attempt ends of which the store does not want to hear any more: its Run says that it is over, or its
// pod was deleted by force. Nothing that the engine goes on to make would get into the state, and another attempt may begin.
var errDisowned = errors.New("the store takes nothing from this attempt any more: its pod was deleted by force, or its Run took it for lost")

// disownedAfter is how long the store has to say so. A server that has not heard of the attempt yet says the same for a
// moment.
const disownedAfter = time.Minute

// refusals are the store's answers that it does not know the runner.
type refusals struct{ since time.Time }

// isRefusal says that the store does not know who asks, or not for that attempt.
func isRefusal(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// note takes note of how a question was answered just now. When it was asked says nothing: the store may have been away meanwhile, or
// this process not have run.
func (r *refusals) note(err error) {
	switch {
	case !isRefusal(store.Code(err)):
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = time.Now()
	}
}

// last says that it has answered nothing else for so long.
func (r *refusals) last(long time.Duration) bool {
	return !r.since.IsZero() && time.Since(r.since) >= long
}

// patienceWithRefusals is how long the store may go on to refuse.
func (a *attempt) patienceWithRefusals() time.Duration { return cmp.Or(a.DisownedAfter, disownedAfter) }

// heedAgain is when the store is asked again after so many failures before.
func heedAgain(fails int) time.Duration {
	full := min(heedPace<<min(fails, 10), heedPause)
	return full/2 + rand.N(full/2) //nolint:gosec // spreads load, guards nothing
}

// interrupted gives why the attempt is to stop, or nothing once ctx is over.
func (a *attempt) interrupted(ctx context.Context) error {
	client := a.client.Impatient(0)
	var refused refusals
	for fails := 0; ; {
		asked := time.Now()
		interrupt, err := client.Interrupt(ctx)
		refused.note(err)
		switch {
		case interrupt != nil:
			return &canceledError{cmp.Or(a.clean(interrupt.Reason), "canceled")}
		case ctx.Err() != nil:
			return nil
		case refused.last(a.patienceWithRefusals()):
			return errDisowned
		}
		wait := heedPace - time.Since(asked)
		if err == nil {
			fails = 0
		} else {
			if fails == 0 {
				a.Log.Warn("cancels are not heard of for now", "error", err)
			}
			wait = heedAgain(fails)
			fails++
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}
