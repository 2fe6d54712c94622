package interrupt

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// ErrDisowned is why an attempt ends that the server does not accept any more: its Run reports that it is over, or
// its pod was deleted by force. What the engine would still create would not get into the state, and another attempt
// may begin.
var ErrDisowned = errors.New("the server takes nothing from this attempt any more: " +
	"its pod was deleted by force, or its Run took it for lost")

// DisownedAfter is how long the server has to reject every request. A server that does not know of the attempt yet
// rejects it for a moment.
const DisownedAfter = time.Minute

// Rejections records since when the server rejects the runner.
type Rejections struct{ since time.Time }

// IsRejection reports whether a status means that the server does not know the runner, or not for that attempt.
func IsRejection(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusForbidden
}

// Record records the answer of a request that ended just now. When the request began does not count: the server may
// have been away meanwhile, or this process not have run.
func (r *Rejections) Record(err error) {
	switch {
	case !IsRejection(runnerapi.Code(err)):
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = time.Now()
	}
}

// Last reports whether the server has rejected every request for that long.
func (r *Rejections) Last(long time.Duration) bool {
	return !r.since.IsZero() && time.Since(r.since) >= long
}

// The first and the longest pause between two requests to a server that is away.
const (
	shortestPause = 500 * time.Millisecond
	longestPause  = 5 * time.Second
)

// Backoff returns the pause after so many failures before this one.
func Backoff(failures int) time.Duration {
	full := min(shortestPause<<min(failures, 10), longestPause)
	return full/2 + rand.N(full/2) //nolint:gosec // spreads load, guards nothing
}
