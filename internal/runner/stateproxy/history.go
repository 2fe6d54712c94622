package stateproxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// history is what the requests so far reveal about the state.
type history struct {
	// newest is the state as the server has it: the last one read or written. nil when there is none.
	newest []byte
	// failed is the last state that could not be written. nil once a later one could.
	failed []byte
	// base is the SHA256 of the version that the engine's next write replaces: the one that was current when the lock
	// was taken, or the last one that was written since. failedBase is that of failed.
	base, failedBase string
	// locked: an engine holds the lock, and writes is how many states were written.
	locked bool
	writes int
	// wrote: a state was written since the lock was taken last; unlocked: the lock was released.
	wrote, unlocked bool
	// restoring: the lock was taken after a state could not be written; restored: a state was written then.
	restoring, restored bool
	// denied is the server's reason for the last lock that it denied; empty once it granted one.
	denied string
	// rejection is why a state was not written or a lock not released. The engine prints only the status.
	rejection string
}

// remember records what a request shows about the state.
func (p *Proxy) remember(method string, sent, got []byte, err error) {
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
		p.failed, p.rejection, p.restored = sent, "state not written: "+err.Error(), false
	case method == http.MethodPost:
		p.restored = p.restored || p.restoring && p.failed != nil
		p.newest, p.failed, p.rejection, p.wrote = sent, nil, "", true
		p.base = fmt.Sprintf("sha256:%x", sha256.Sum256(sent))
		p.writes++
	case method == "LOCK" && err != nil:
		p.denied = deniedLock(err)
	case method == "LOCK":
		p.denied = ""
		p.wrote, p.unlocked, p.locked = false, false, true
		p.restoring = p.failed != nil
		p.base = baseOf(got)
	case method == "UNLOCK" && err == nil:
		p.unlocked, p.locked = true, false
	case method == "UNLOCK" && err != nil:
		p.rejection = "lock not released: " + err.Error()
	case method == http.MethodGet && err == nil:
		p.newest = got
	case method == http.MethodGet && runnerapi.Code(err) == http.StatusNotFound, method == http.MethodDelete && err == nil:
		p.newest = nil
	}
}

// knows reports whether a state is the newest one, whose secrets the redactor has already.
func (p *Proxy) knows(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Equal(data, p.newest)
}

// Current reads the state as the server has it; nil when there is none.
func (p *Proxy) Current(ctx context.Context) ([]byte, error) {
	data, err := p.client.State(ctx, http.MethodGet, "", nil)
	p.remember(http.MethodGet, nil, data, err)
	if runnerapi.Code(err) == http.StatusNotFound {
		return nil, nil
	}
	return data, err
}

// SetCurrent records the state that the engine's own backend has.
func (p *Proxy) SetCurrent(state []byte) {
	if len(state) == 0 {
		state = nil
	}
	p.remember(http.MethodGet, nil, state, nil)
}

// State returns the newest state; an empty one when there is none.
func (p *Proxy) State() (engine.State, error) {
	p.mu.Lock()
	data := p.newest
	p.mu.Unlock()
	if len(data) == 0 {
		return engine.State{}, nil
	}
	return engine.ParseState(data)
}

// Writes returns how many states were written.
func (p *Proxy) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// Locked reports whether an engine has taken the lock and not given it back.
func (p *Proxy) Locked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locked
}

// Finished reports whether the engine wrote the state and released the lock that it took, which is its last action.
// One that wrote none, as of a plan that is stale or without its provider, proves nothing about the state.
func (p *Proxy) Finished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrote && p.unlocked
}

// Undelivered returns a state that could not be written and that no later one replaced.
func (p *Proxy) Undelivered() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Restored reports whether a state was written, under a lock of its own, after one that could not be written.
func (p *Proxy) Restored() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restored
}

// Base returns the SHA256 of the version that the undelivered state replaces or, without one, that the next write
// replaces.
func (p *Proxy) Base() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return p.failedBase
	}
	return p.base
}

// SetBase records the server's answer to a lock that the runner took itself.
func (p *Proxy) SetBase(locked []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base = baseOf(locked)
}

// DeniedLock returns why the server denied the lock that was requested last; empty when it granted it, or had no
// reason.
func (p *Proxy) DeniedLock() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied
}

// Rejection returns why the server rejected what the engine sent last; empty when it did not.
func (p *Proxy) Rejection() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rejection
}

// Lock is how engines describe a lock.
type Lock struct {
	ID, Operation, Info, Who string
}

// operationOf returns what an engine wants a lock for; empty when that is unknown.
func operationOf(lock []byte) string {
	var l Lock
	_ = json.Unmarshal(lock, &l) // the server rejects what is no lock
	return l.Operation
}

// deniedLock returns the server's message about a lock that is held; empty of any other answer.
func deniedLock(err error) string {
	var rejected *runnerapi.Error
	var held Lock
	if errors.As(err, &rejected) && rejected.Code == http.StatusLocked {
		_ = json.Unmarshal([]byte(rejected.Message), &held)
	}
	return held.Info
}

// baseOf returns the SHA256 of the version that was current when a lock was taken; a server of an older Cairn leaves
// it out.
func baseOf(answer []byte) string {
	var locked runnerapi.Locked
	_ = json.Unmarshal(answer, &locked)
	return locked.Base
}
