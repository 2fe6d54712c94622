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

// History is what the requests so far reveal about the state.
type History struct {
	// newest is the state as the server has it: the last one read or written. nil when there is none. newestDigest is
	// its SHA256; empty where it is not known.
	newest       []byte
	newestDigest string
	// Undelivered is the last state that could not be written. nil once a later one could.
	Undelivered []byte
	// base is the SHA256 of the version that the engine's next write replaces: the one that was current when the lock
	// was taken, or the last one that was written since. undeliveredBase is that of Undelivered.
	base, undeliveredBase string
	// Locked: an engine has taken the lock and not given it back, and Writes is how many states were written.
	Locked bool
	Writes int
	// wrote: a state was written since the lock was taken last; unlocked: the lock was released.
	wrote, unlocked bool
	// restoring: the lock was taken after a state could not be written; Restored: a state was written then.
	restoring bool
	Restored  bool
	// DeniedLock is the server's reason for the last lock that it denied; empty once it granted one, or had no reason.
	DeniedLock string
	// Rejection is why a state was not written or a lock not released. The engine prints only the status.
	Rejection string
}

// History returns what is known now.
func (p *Proxy) History() History {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.history
}

// Planned returns the state that an engine planned with; nil when it read none, or one that is too large to be kept
// until the apply.
func (p *Proxy) Planned() []byte {
	if newest := p.History().newest; len(newest) <= largestPlanned {
		return newest
	}
	return nil
}

// largestPlanned is the size in bytes up to which a runner keeps a state from its plan until the apply, which may wait
// for an approval.
const largestPlanned = 4 << 20

// ExpectPlanned has the engine that takes the lock read the state that was planned with, if that is still the current
// version. Then the server is not asked for it again.
func (p *Proxy) ExpectPlanned(state []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = state
}

// locked returns the state that an engine with the lock wants to read, without asking the server: no other can change
// it meanwhile. It is nil where that state is not known.
func (p *Proxy) locked(method string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.history
	if method != http.MethodGet || !h.Locked || h.Undelivered != nil || h.base == "" || h.newestDigest != h.base {
		return nil
	}
	return h.newest
}

// State returns the newest state; an empty one when there is none.
func (h History) State() (engine.State, error) {
	if len(h.newest) == 0 {
		return engine.State{}, nil
	}
	return engine.ParseState(h.newest)
}

// Has reports whether the newest state is that one, whatever its serial.
func (h History) Has(state []byte) bool { return engine.SameState(h.newest, state) }

// Finished reports whether the engine wrote the state and released the lock that it took, which is its last action.
// One that wrote none, as of a plan that is stale or without its provider, proves nothing about the state.
func (h History) Finished() bool { return h.wrote && h.unlocked }

// Base returns the SHA256 of the version that the undelivered state replaces or, without one, that the next write
// replaces.
func (h History) Base() string {
	if h.Undelivered != nil {
		return h.undeliveredBase
	}
	return h.base
}

// remember records what a request shows about the state.
func (p *Proxy) remember(method string, sent, got []byte, err error) {
	if method == http.MethodGet && err == nil && !bytes.Equal(got, p.History().newest) {
		p.learn(got) // of the newest state the redactor has the secrets already
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &p.history
	switch {
	case method == http.MethodPost && err != nil:
		if h.Undelivered == nil {
			h.undeliveredBase = h.base
		}
		h.Undelivered, h.Rejection, h.Restored = sent, "state not written: "+err.Error(), false
	case method == http.MethodPost:
		h.Restored = h.Restored || h.restoring && h.Undelivered != nil
		h.newest, h.Undelivered, h.Rejection, h.wrote = sent, nil, "", true
		h.base = digestOf(sent)
		h.newestDigest = h.base
		h.Writes++
	case method == "LOCK" && err != nil:
		h.DeniedLock = deniedLock(err)
	case method == "LOCK":
		h.DeniedLock = ""
		h.wrote, h.unlocked, h.Locked = false, false, true
		h.restoring = h.Undelivered != nil
		h.base = baseOf(got)
		if p.planned != nil && digestOf(p.planned) == h.base {
			h.newest, h.newestDigest = p.planned, h.base
		}
		p.planned = nil
	case method == "UNLOCK" && err == nil:
		h.unlocked, h.Locked = true, false
	case method == "UNLOCK" && err != nil:
		h.Rejection = "lock not released: " + err.Error()
	case method == http.MethodGet && err == nil:
		h.newest, h.newestDigest = got, ""
	case method == http.MethodGet && runnerapi.Code(err) == http.StatusNotFound, method == http.MethodDelete &&
		err == nil:
		h.newest, h.newestDigest = nil, ""
	}
}

func digestOf(state []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(state)) }

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

// SetBase records the server's answer to a lock that the runner took itself.
func (p *Proxy) SetBase(locked []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history.base = baseOf(locked)
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
	var held Lock
	if rejected, ok := errors.AsType[*runnerapi.Error](err); ok && rejected.Code == http.StatusLocked {
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
