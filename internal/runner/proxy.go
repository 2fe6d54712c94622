package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// proxy is the state's way from the engine, which speaks its http backend's protocol on the loopback, to the store. It
// adds token and attempt, is patient in the engine's stead, learns secrets from each state that passes, and remembers
// the newest one and one that could not be delivered.
type proxy struct {
	client  *store.Client
	secrets *redact.Redactor
	log     *slog.Logger
	server  *http.Server
	served  chan struct{}
	address string
	// password keeps others on the same node out, should the pod be on the host's network.
	password string
	// flights are the requests that are being served.
	flights sync.WaitGroup
	// mirror is the providers' way to the engine, during an init that needs it. nil otherwise.
	mirror *mirror

	mu sync.Mutex
	// writes says that the state may be written.
	writes bool
	// base is the SHA256 of the version that the engine goes on from: the one that was current when the lock was taken, or the last one
	// that was written since. failedBase is that of failed.
	base, failedBase string
	// newest is the state as the store has it: the last one read or written. nil when there is none.
	newest []byte
	// failed is the last one that could not be written. nil once a later one could.
	failed []byte
	// locked says that an engine holds the lock, and writings is how many states were written.
	locked   bool
	writings int
	// guarded says what gets no lock once a state could not be written. mending says that the lock was taken after that all the same,
	// and mended that a state was written then.
	guarded         func(operation string) bool
	mending, mended bool
	// denied is what the store said of the lock that it did not give last; empty once it gave one.
	denied string
	// wrote says that a state was written after the lock was taken last, and unlocked that the lock was given back.
	wrote, unlocked bool
	// stage is where the engine works on a copy of the state; nil when it works on the state.
	stage *stage
	// refusal is why a state was not written or a lock not given back. The engine tells only the number of it.
	refusal string
}

const proxyUser = "cairn"

// startProxy begins to serve. Requests outlive an interrupt of the process, because that is when the engine saves the
// state.
func startProxy(process context.Context, client *store.Client, secrets *redact.Redactor, log *slog.Logger) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(process, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		client: client, secrets: secrets, log: log,
		served: make(chan struct{}), address: "http://" + listener.Addr().String() + "/state", password: rand.Text(),
	}
	secrets.Add(p.password)
	p.server = &http.Server{ //nolint:gosec // no timeout fits: a state may be large, and the store away for long
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.flights.Add(1)
			defer p.flights.Done()
			ctx, cancel := outlive(process)
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

// settle waits, once the engine has ended, for the requests that it made: a state that it sent just before it was
// killed is delivered all the same, or is known to be undelivered.
func (p *proxy) settle() { p.flights.Wait() }

func (p *proxy) close() {
	_ = p.server.Shutdown(context.Background())
	<-p.served
}

// environment leads the engine here. It is by the environment and not by the code, because a saved plan remembers what
// the code says, and the next pod's proxy has another address.
func (p *proxy) environment(state bool) []string {
	if !state { // the engine's own backend may be of that type, and the password is for nobody else
		return p.mirror.environment()
	}
	return append([]string{
		"TF_HTTP_ADDRESS=" + p.address,
		"TF_HTTP_LOCK_ADDRESS=" + p.address,
		"TF_HTTP_UNLOCK_ADDRESS=" + p.address,
		"TF_HTTP_USERNAME=" + proxyUser,
		"TF_HTTP_PASSWORD=" + p.password,
		"TF_HTTP_RETRY_MAX=0",
	}, p.mirror.environment()...)
}

func (p *proxy) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != proxyUser || subtle.ConstantTimeCompare([]byte(password), []byte(p.password)) != 1 {
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
	if p.onStage(w, r.Method, body) {
		return
	}
	if why := p.refuses(r.Method, body); why != "" {
		refuseWrite(w, r.Method, why)
		return
	}
	answer, err := p.client.State(ctx, r.Method, r.URL.Query().Get("ID"), body)
	p.remember(r.Method, body, answer, err)
	var refused *store.Error
	switch {
	case err == nil:
		_, _ = w.Write(answer) //nolint:gosec // the engine takes it for a state, nobody for a page
	case errors.As(err, &refused):
		// As the store says it: the engine reads from it who holds the lock.
		w.WriteHeader(refused.Code)
		_, _ = io.WriteString(w, refused.Message)
	default:
		p.log.Error("state not passed on", "method", r.Method, "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// open says whether the state may be written: in a shell, and from the beginning of the apply step on, until it went well. After one that went
// wrong it stays open, since what a killed engine sent may still arrive. An engine in a hook has nobody who would rescue a
// state that it could not write.
func (p *proxy) open(writes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = writes
}

// stopsAfterLoss gives no lock once a state could not be written, to what guards says of. A script, or a person, may go on with another
// apply, which would make once more what that state alone knows.
func (p *proxy) stopsAfterLoss(guards func(operation string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guarded = guards
}

// written is how many states were written.
func (p *proxy) written() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writings
}

// held says that an engine has taken the lock and not given it back.
func (p *proxy) held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locked
}

const (
	readOnly = "hooks read the state, they do not write it"
	lossStop = "a state could not be written before: nothing is applied without it"
)

// refuses says why a request is not let through as things are; empty when it is. To give back a lock never harms.
func (p *proxy) refuses(method string, body []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == http.MethodGet || method == "UNLOCK":
		return ""
	case !p.writes:
		return readOnly
	case method == "LOCK" && p.failed != nil && p.guarded != nil && p.guarded(operationOf(body)):
		return lossStop
	}
	return ""
}

// operationOf is what an engine wants a lock for, as it says itself; empty when it does not.
func operationOf(lock []byte) string {
	var info lockInfo
	_ = json.Unmarshal(lock, &info) // the store refuses what is none
	return info.Operation
}

// refuseWrite refuses an engine in a script. Of a lock that it does not get it shows only the ID of the one that is there.
func refuseWrite(w http.ResponseWriter, method, why string) {
	w.WriteHeader(http.StatusConflict)
	if method == "LOCK" {
		_ = json.NewEncoder(w).Encode(map[string]string{"ID": why})
		return
	}
	_, _ = io.WriteString(w, why)
}

// remember keeps what a request tells about the state.
func (p *proxy) remember(method string, sent, got []byte, err error) {
	if method == http.MethodGet && err == nil && !p.knows(got) {
		p.learn(got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == http.MethodPost && err != nil:
		if p.failed == nil {
			p.failedBase = p.base
		}
		p.failed, p.refusal, p.mended = sent, "state not written: "+err.Error(), false
	case method == http.MethodPost:
		p.mended = p.mended || p.mending && p.failed != nil
		p.newest, p.failed, p.refusal, p.wrote = sent, nil, "", true
		p.base = fmt.Sprintf("sha256:%x", sha256.Sum256(sent))
		p.writings++
	case method == "LOCK" && err != nil:
		p.denied = infoIn(err)
	case method == "LOCK":
		p.denied = ""
		p.wrote, p.unlocked, p.locked = false, false, true
		p.mending = p.failed != nil
		p.base = baseIn(got)
	case method == "UNLOCK" && err == nil:
		p.unlocked, p.locked = true, false
	case method == "UNLOCK" && err != nil:
		p.refusal = "lock not given back: " + err.Error()
	case method == http.MethodGet && err == nil:
		p.newest = got
	case method == http.MethodGet && store.Code(err) == http.StatusNotFound, method == http.MethodDelete && err == nil:
		p.newest = nil
	}
}

// learn makes what a state marks as sensitive secret.
func (p *proxy) learn(data []byte) {
	state, err := engine.ParseState(data)
	if err != nil {
		return
	}
	p.secrets.Add(redact.Leaves(state.Secrets)...)
}

// knows says whether a state is the newest one, which was learned from already.
func (p *proxy) knows(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Equal(data, p.newest)
}

// state gives the newest state; an empty one when there is none.
func (p *proxy) state() (engine.State, error) {
	p.mu.Lock()
	data := p.newest
	p.mu.Unlock()
	if len(data) == 0 {
		return engine.State{}, nil
	}
	return engine.ParseState(data)
}

// undelivered gives a state that could not be written and that no later one replaced.
func (p *proxy) undelivered() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// startsFrom takes in what the store answered to a lock that the runner took itself.
func (p *proxy) startsFrom(locked []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base = baseIn(locked)
}

// infoIn is what the store says of a lock that is held; empty of any other answer.
func infoIn(err error) string {
	var refused *store.Error
	var held lockInfo
	if errors.As(err, &refused) && refused.Code == http.StatusLocked {
		_ = json.Unmarshal([]byte(refused.Message), &held)
	}
	return held.Info
}

// lockDenied says why the store did not give the lock that was asked for last; empty when it did, or did not say.
func (p *proxy) lockDenied() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied
}

// baseIn is the SHA256 of the version that was current when a lock was taken; a server of an older Cairn leaves it out.
func baseIn(answer []byte) string {
	var locked store.Locked
	_ = json.Unmarshal(answer, &locked)
	return locked.Base
}

// lostFrom gives the SHA256 of the version that a state goes on from which could not be written; empty when there was none.
func (p *proxy) lostFrom() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return p.failedBase
	}
	return p.base
}

// putBack says that somebody wrote a state under a lock of their own after one that could not be written.
func (p *proxy) putBack() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mended
}

// refused gives why the store refused what the engine sent last, or a provider that it wants, if it did.
func (p *proxy) refused() string {
	if why := p.mirror.refused(); why != "" {
		return why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusal
}

// readBody reads a request's body in one piece of memory if its length is known: states may be large.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > store.LargestState {
		return nil, errors.New("the state is too large")
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if n, err := body.ReadFrom(io.LimitReader(r.Body, store.LargestState+1)); err != nil {
		return nil, err
	} else if n > store.LargestState {
		return nil, errors.New("the state is too large")
	}
	return body.Bytes(), nil
}
