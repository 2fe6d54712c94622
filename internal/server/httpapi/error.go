// Package httpapi has what the handlers of the runner API and the user API share: errors, bodies with limits,
// responses.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state/decision"
)

// Error is a permanent error: the same request would get it again.
type Error struct {
	Code int
	Text string
}

func (r *Error) Error() string { return r.Text }

// Errorf creates an Error with an HTTP status.
func Errorf(code int, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

var stateCodes = map[decision.Reason]int{
	decision.NotCurrent: http.StatusForbidden,
	decision.Locked:     http.StatusLocked,
	decision.NotHolder:  http.StatusLocked,
	decision.Busy:       http.StatusLocked,
	decision.Stale:      http.StatusConflict,
	decision.Diverged:   http.StatusConflict,
	decision.Invalid:    http.StatusBadRequest,
	decision.Opaque:     http.StatusUnprocessableEntity,
	decision.Damaged:    http.StatusConflict,
	decision.Missing:    http.StatusNotFound,
	decision.NotEmpty:   http.StatusConflict,
}

// StatusOf returns the status and the text of the response to an error. What is not listed is transient: the API server
// or the bucket does not answer, or this process stops. The response asks the client to retry, and has no details.
func StatusOf(err error) (code int, text string) {
	var no *Error
	var said *runnerapi.Error
	var fenced *decision.Rejection
	var large *http.MaxBytesError
	var busy *tenant.Busy
	switch {
	case errors.As(err, &no):
		return no.Code, no.Text
	case errors.As(err, &said):
		return said.Code, said.Message
	case errors.As(err, &fenced):
		return stateCodes[fenced.Reason], fenced.Message
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", large.Limit)
	case errors.Is(err, bucket.ErrTooLarge):
		return http.StatusRequestEntityTooLarge, "too large"
	case errors.Is(err, bucket.ErrDamaged), errors.Is(err, bucket.ErrWrongKey):
		return http.StatusGone,
			fmt.Sprintf("an object of the bucket is not as Cairn wrote it: %v. Restore it from a backup of the bucket",
				err)
	case errors.As(err, &busy):
		return http.StatusServiceUnavailable, busy.Error() + ": try again"
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, "the request was cut off"
	}
	return http.StatusServiceUnavailable, "the server cannot do this right now: try again"
}
