// Package stateproxy serves the state to the engine. The engine speaks the protocol of its http backend on the
// loopback, and the proxy passes the requests on to the server.
package stateproxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
)

// Proxy is the way from the engine to the state on the server. It adds token and attempt, retries in place of the
// engine, adds the secrets of each state that passes to the redactor, and remembers the newest state and one that
// could not be written.
type Proxy struct {
	client  *runnerapi.Client
	secrets *redact.Redactor
	log     *slog.Logger
	server  *http.Server
	served  chan struct{}
	address string
	// password keeps others on the same node out, should the pod be on the host's network.
	password string
	// requests are those that are being served.
	requests sync.WaitGroup

	mu      sync.Mutex
	history History
	// planned is the state that the plan read, until the first lock; nil when it is not known.
	planned []byte
	// writable: the state may be written.
	writable bool
	// deniedAfterLoss returns true for an operation that gets no lock once a state could not be written.
	deniedAfterLoss func(operation string, lost []byte) bool
	// overlaid: the engine works on overlay, a copy of the state, in place of the state, which it neither reads nor
	// changes. It has no lock: one engine at a time works on it. It is nil when there is no state in it.
	overlaid bool
	overlay  []byte
}

const user = "cairn"

// Start begins to serve. Requests outlive an interrupt of the process, because that is when the engine saves the state.
func Start(
	process context.Context, client *runnerapi.Client, secrets *redact.Redactor, log *slog.Logger,
) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(process, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		client: client, secrets: secrets, log: log, served: make(chan struct{}),
		address: "http://" + listener.Addr().String() + "/state", password: rand.Text(),
	}
	secrets.Add(p.password)
	p.server = &http.Server{ //nolint:gosec // no timeout fits: a state may be large, and the server away for long
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.requests.Add(1)
			defer p.requests.Done()
			ctx, cancel := interrupt.Outlive(process)
			defer cancel()
			p.serve(ctx, w, r)
		}),
	}
	go func() {
		defer close(p.served)
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the state's proxy ended", "error", err)
		}
	}()
	return p, nil
}

// Wait waits, once the engine has ended, for the requests that it sent: a state that it sent just before it was
// killed is delivered all the same, or is known to be undelivered.
func (p *Proxy) Wait() { p.requests.Wait() }

// Close stops the proxy after the requests under way.
func (p *Proxy) Close() {
	_ = p.server.Shutdown(context.Background())
	<-p.served
}

// Environment returns the variables that lead the engine to the proxy. They are not in the code, because a saved
// plan contains the backend of the code, and the next pod's proxy has another address.
func (p *Proxy) Environment() []string {
	return []string{
		"TF_HTTP_ADDRESS=" + p.address,
		"TF_HTTP_LOCK_ADDRESS=" + p.address,
		"TF_HTTP_UNLOCK_ADDRESS=" + p.address,
		"TF_HTTP_USERNAME=" + user,
		"TF_HTTP_PASSWORD=" + p.password,
		"TF_HTTP_RETRY_MAX=0",
	}
}

func (p *Proxy) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	name, password, _ := r.BasicAuth()
	if name != user || subtle.ConstantTimeCompare([]byte(password), []byte(p.password)) != 1 {
		http.Error(w, "not for you", http.StatusUnauthorized)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodDelete, "LOCK", "UNLOCK":
	default:
		http.Error(w, "not a request for a state", http.StatusMethodNotAllowed)
		return
	}
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if r.Method == http.MethodPost {
		p.learn(body)
	}
	if p.serveOverlay(w, r.Method, body) {
		return
	}
	if why := p.denies(r.Method, body); why != "" {
		deny(w, r.Method, why)
		return
	}
	if state := p.locked(r.Method); state != nil {
		_, _ = w.Write(state)
		return
	}
	answer, err := p.client.State(ctx, r.Method, r.URL.Query().Get("ID"), body)
	p.remember(r.Method, body, answer, err)
	var rejected *runnerapi.Error
	switch {
	case err == nil:
		_, _ = w.Write(answer) //nolint:gosec // the engine reads a state, no browser a page
	case errors.As(err, &rejected):
		// In the server's words: the engine reads from them who holds the lock.
		w.WriteHeader(rejected.Code)
		_, _ = io.WriteString(w, rejected.Message)
	default:
		p.log.Error("state not passed on", "method", r.Method, "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// AllowWrites reports whether the state may be written: in a shell, and from the beginning of the apply step on until
// that succeeded. After a failed apply writes stay allowed, since what a killed engine sent may still arrive. An
// engine in a hook may never write: the runner would not rescue a state that it could not write.
func (p *Proxy) AllowWrites(allowed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writable = allowed
}

// DenyLockAfterLoss denies the lock once a state could not be written, for the operations that denied returns true
// for, given that state. A script, or a user, may continue with another apply, which would create again what that state
// alone knows.
func (p *Proxy) DenyLockAfterLoss(denied func(operation string, lost []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deniedAfterLoss = denied
}

// Why the proxy denies a request.
const (
	ReadOnly       = "hooks read the state, they do not write it"
	StateWriteLost = "a state could not be written before: nothing is applied without it"
)

// denies returns why a request is not passed on; empty when it is. Releasing a lock never harms.
func (p *Proxy) denies(method string, body []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == http.MethodGet || method == "UNLOCK":
		return ""
	case !p.writable:
		return ReadOnly
	case method == "LOCK" && p.history.Undelivered != nil &&
		p.deniedAfterLoss != nil && p.deniedAfterLoss(operationOf(body), p.history.Undelivered):
		return StateWriteLost
	}
	return ""
}

// deny answers an engine in a script. Of a lock that it does not get, an engine shows only the ID.
func deny(w http.ResponseWriter, method, why string) {
	w.WriteHeader(http.StatusConflict)
	if method == "LOCK" {
		_ = json.NewEncoder(w).Encode(map[string]string{"ID": why})
		return
	}
	_, _ = io.WriteString(w, why)
}

// learn adds what a state marks as sensitive to the redactor.
func (p *Proxy) learn(data []byte) {
	state, err := engine.ParseState(data)
	if err != nil {
		return
	}
	p.secrets.Add(redact.Leaves(state.Secrets)...)
}

// readBody reads a request's body in one piece of memory if its length is known: states may be large.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > runnerapi.LargestState {
		return nil, errors.New("the state is too large")
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if n, err := body.ReadFrom(io.LimitReader(r.Body, runnerapi.LargestState+1)); err != nil {
		return nil, err
	} else if n > runnerapi.LargestState {
		return nil, errors.New("the state is too large")
	}
	return body.Bytes(), nil
}
