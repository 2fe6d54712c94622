package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answersWithin is how long Kubernetes may take to begin an answer. It queues what is too much for it for some seconds; a watch is
// answered at once, and goes on after.
const answersWithin = 20 * time.Second

// BindRequests ends all requests to Kubernetes with ctx, and those that are not answered. Some are made with no context of a command: what
// kinds there are is asked for by the library, once, in the first request of all.
func (s *Session) BindRequests(ctx context.Context) {
	s.bound = func(to http.RoundTripper) http.RoundTripper {
		return answered{to, ctx, cmp.Or(s.Patience, answersWithin)}
	}
}

// answered gives up on requests that are not answered in time, and on all of them when ctx is over.
type answered struct {
	to     http.RoundTripper
	ctx    context.Context // that of the process, for requests that have none
	within time.Duration
}

// RoundTrip sends a request.
func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	unbind := context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })
	late := time.AfterFunc(a.within, func() { cancel(fmt.Errorf("no answer within %s", a.within)) })
	over := func() { unbind(); cancel(nil) }
	answer, err := a.to.RoundTrip(r.WithContext(ctx))
	late.Stop()
	if err != nil {
		if why := context.Cause(ctx); why != nil && r.Context().Err() == nil {
			err = why
		}
		over()
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection
		answer.Body = &closed{answer.Body, over}
	}
	return answer, nil
}

// closed says when a body is closed.
type closed struct {
	io.ReadCloser
	then func()
}

// Close closes the body.
func (c *closed) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}
