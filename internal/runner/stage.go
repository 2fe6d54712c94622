package runner

import (
	"context"
	"net/http"

	"cairn.dev/cairn/internal/store"
)

// stage is a copy of the state that an engine works on in place of the state, which it neither sees nor changes.
type stage struct {
	// state as it is there; nil when there is none.
	state []byte
}

// finished says that the engine wrote the state and gave back the lock that it took, which is the last thing it does. One that
// wrote none, as of a plan that is stale or without its provider, did nothing that tells of what the state has.
func (p *proxy) finished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrote && p.unlocked
}

// current reads the state as the store has it; nil when there is none.
func (p *proxy) current(ctx context.Context) ([]byte, error) {
	data, err := p.client.State(ctx, http.MethodGet, "", nil)
	p.remember(http.MethodGet, nil, data, err)
	if store.Code(err) == http.StatusNotFound {
		return nil, nil
	}
	return data, err
}

// saw takes in what the engine's own backend has.
func (p *proxy) saw(state []byte) {
	if len(state) == 0 {
		state = nil
	}
	p.remember(http.MethodGet, nil, state, nil)
}

// enter lets the engine work on a copy of the state until leave, which gives what it made of it.
func (p *proxy) enter(state []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage = &stage{state: state}
}

func (p *proxy) leave() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stage
	p.stage = nil
	if s == nil {
		return nil
	}
	return s.state
}

// onStage answers for the copy, if there is one. Who is on it is alone, so it has no lock.
func (p *proxy) onStage(w http.ResponseWriter, method string, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == nil {
		return false
	}
	switch method {
	case http.MethodGet:
		if p.stage.state == nil {
			w.WriteHeader(http.StatusNotFound)
			break
		}
		_, _ = w.Write(p.stage.state)
	case http.MethodPost:
		p.stage.state = body
	case http.MethodDelete:
		p.stage.state = nil
	}
	return true
}
