// Package download is what the downloads of engines and of providers have in common: how far one is, and when the
// server that it is from does not answer any more. It knows nothing of Kubernetes.
package download

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"cairn.dev/cairn/internal/base/egress"
)

// How long a server may take.
const (
	// Answer is the default for each of: the connection, the TLS handshake, the head of the answer.
	Answer = 10 * time.Second
	// idle is how long a response may send nothing in the middle.
	idle = 30 * time.Second
)

// ErrStalled is the error of a response that sent nothing for a while.
var ErrStalled = errors.New("nothing more arrived for 30 seconds")

// Transport returns a transport that uses the proxies in the environment, and connects to the addresses that a Guard
// allows. A request to a server that does not begin to answer within the time fails; 0 is Answer.
func Transport(to *egress.Guard, answer time.Duration) *egress.Transport {
	return Trusting(to, answer, nil)
}

// Trusting returns a transport like Transport that trusts some certificates; nil are those of the machine.
func Trusting(to *egress.Guard, answer time.Duration, trusted *x509.CertPool) *egress.Transport {
	answer = cmp.Or(answer, Answer)
	return to.Transport(&http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   answer,
		ResponseHeaderTimeout: answer,
		IdleConnTimeout:       time.Minute,
		MaxIdleConns:          20,
		ForceAttemptHTTP2:     true,
	}, answer)
}

// Watch returns a context for a request, and what the body of its response has to be read through: once that
// receives nothing for 30 seconds, the request ends with ErrStalled. Closing the body ends the watch; so does the
// function, for a response without one.
func Watch(ctx context.Context) (context.Context, func(io.ReadCloser) io.ReadCloser, context.CancelFunc) {
	return watch(ctx, idle)
}

func watch(
	ctx context.Context, limit time.Duration,
) (context.Context, func(io.ReadCloser) io.ReadCloser, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := func() { cancel(nil) }
	return ctx, func(body io.ReadCloser) io.ReadCloser {
		return &watched{ReadCloser: body, ctx: ctx, over: over, limit: limit, timer: time.AfterFunc(limit, func() {
			cancel(ErrStalled)
		})}
	}, over
}

// watched is a body that may not stall.
type watched struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // it is the request's, as the body is
	over  context.CancelFunc
	limit time.Duration
	timer *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.timer.Reset(w.limit)
	if err != nil && errors.Is(context.Cause(w.ctx), ErrStalled) {
		err = ErrStalled
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.over()
	return w.ReadCloser.Close()
}

// Transfer is a file on its way.
type Transfer struct {
	// From is its address, without a password; empty while none is asked.
	From string
	// Received is how many bytes of Total were received; Total is 0 while it is unknown.
	Received, Total int64
}

// Transfers are the files on their way, by the names that their owner chooses. The zero value is empty. They are
// safe for concurrent use.
type Transfers struct {
	mu  sync.Mutex
	all map[string]*Tally
}

// Tally counts what arrives of a file.
type Tally struct {
	from     string
	received atomic.Int64
	total    atomic.Int64
}

// Begin begins to count a file under a name, in place of the one before it.
func (t *Transfers) Begin(name, from string) *Tally {
	y := &Tally{from: from}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*Tally{}
	}
	t.all[name] = y
	return y
}

// End removes a name.
func (t *Transfers) End(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, name)
}

// Of returns the progress of a file; the zero Transfer when there is none.
func (t *Transfers) Of(name string) Transfer {
	t.mu.Lock()
	y := t.all[name]
	t.mu.Unlock()
	if y == nil {
		return Transfer{}
	}
	return Transfer{From: y.from, Received: y.received.Load(), Total: y.total.Load()}
}

// Expect sets how many bytes there will be; less than 1 is unknown.
func (y *Tally) Expect(total int64) { y.total.Store(max(total, 0)) }

// Write counts.
func (y *Tally) Write(p []byte) (int, error) {
	y.received.Add(int64(len(p)))
	return len(p), nil
}
