package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// defaultTimeout is the time until Kubernetes starts to answer a request. An overloaded API server queues requests for
// some seconds. A watch is answered immediately and continues.
const defaultTimeout = 20 * time.Second

// BindRequests cancels requests to Kubernetes when ctx is done, and those that are not answered in time. The library
// sends some without the context of a command: it discovers the resources of the API server before the first request.
func (s *Session) BindRequests(ctx context.Context) {
	s.bound = func(to http.RoundTripper) http.RoundTripper {
		return boundTransport{to, ctx, cmp.Or(s.Timeout, defaultTimeout)}
	}
}

// poll is how often a command reads whether what it requested is done.
const poll = 300 * time.Millisecond

// Poll calls done until it returns true or an error, and reports whether it did within the timeout. Requests of done
// have no deadline: the client returns an error about its rate limiter for one that would start after it.
func Poll(ctx context.Context, timeout time.Duration, done wait.ConditionWithContextFunc) (inTime bool, err error) {
	err = wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(context.Context) (bool, error) {
		return done(ctx)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return false, nil
	}
	return true, err
}

// boundTransport cancels requests that are not answered in time, and all of them when ctx is done.
type boundTransport struct {
	to     http.RoundTripper
	ctx    context.Context // of the process, for requests without one
	within time.Duration
}

// RoundTrip sends a request.
func (a boundTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	unbind := context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })
	late := time.AfterFunc(a.within, func() { cancel(fmt.Errorf("no answer within %s", a.within)) })
	done := func() { unbind(); cancel(nil) }
	answer, err := a.to.RoundTrip(r.WithContext(ctx))
	late.Stop()
	if err != nil {
		if why := context.Cause(ctx); why != nil && r.Context().Err() == nil {
			err = why
		}
		done()
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection
		answer.Body = &closeHook{answer.Body, done}
	}
	return answer, nil
}

// closeHook calls a function when a body is closed.
type closeHook struct {
	io.ReadCloser
	then func()
}

// Close closes the body.
func (c *closeHook) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}
