package session

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTimeoutEndsWithTheFirstAnswer checks that only the first byte of a response has a timeout: a watch lasts for
// hours.
func TestTimeoutEndsWithTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := boundTransport{ctx: t.Context(), within: time.Second,
			to: roundTrip(func(r *http.Request) (*http.Response, error) {
				body, writer := io.Pipe()
				go func() {
					select {
					case <-r.Context().Done():
						_ = writer.CloseWithError(context.Cause(r.Context()))
					case <-time.After(time.Hour):
						_, _ = io.WriteString(writer, "watched")
						_ = writer.Close()
					}
				}()
				return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
			})}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://kubernetes", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := a.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "watched" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// TestPollSetsNoDeadlineOfRequests checks that what a command waits for ends with its timeout, and not with an error of
// the client's rate limiter, which rejects requests with a deadline before they could start.
func TestPollSetsNoDeadlineOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(ctx context.Context) (bool, error) {
			if _, ok := ctx.Deadline(); ok {
				return false, errors.New("client rate limiter Wait returned an error")
			}
			return false, nil
		}
		start := time.Now()
		if inTime, err := Poll(t.Context(), time.Minute, never); inTime || err != nil ||
			time.Since(start) < time.Minute {
			t.Errorf("in time %t, error %v, after %s", inTime, err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Poll(ctx, time.Minute, never); !errors.Is(err, context.Canceled) {
			t.Errorf("after Ctrl-C: %v", err)
		}
		done := func(context.Context) (bool, error) { return true, nil }
		if inTime, err := Poll(t.Context(), time.Minute, done); !inTime || err != nil {
			t.Errorf("in time %t, error %v", inTime, err)
		}
	})
}
