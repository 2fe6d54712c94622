package session

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTimeoutEndsWithTheFirstAnswer checks that only the first byte of a response has a timeout: a watch lasts for hours.
func TestTimeoutEndsWithTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := boundTransport{ctx: t.Context(), within: time.Second, to: roundTrip(func(r *http.Request) (*http.Response, error) {
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
