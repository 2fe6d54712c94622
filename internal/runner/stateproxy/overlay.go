package stateproxy

import "net/http"

// overlay is a copy of the state that an engine works on in place of the state, which it neither reads nor changes.
// It has no lock: one engine at a time works on it.
type overlay struct {
	// state as it is; nil when there is none.
	state []byte
}

// BeginOverlay lets the engine work on a copy of the state until EndOverlay.
func (p *Proxy) BeginOverlay(state []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overlay = &overlay{state: state}
}

// EndOverlay returns what the engine wrote into the copy.
func (p *Proxy) EndOverlay() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.overlay
	p.overlay = nil
	if o == nil {
		return nil
	}
	return o.state
}

// serveOverlay answers for the copy, if there is one.
func (p *Proxy) serveOverlay(w http.ResponseWriter, method string, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.overlay == nil {
		return false
	}
	switch method {
	case http.MethodGet:
		if p.overlay.state == nil {
			w.WriteHeader(http.StatusNotFound)
			break
		}
		_, _ = w.Write(p.overlay.state)
	case http.MethodPost:
		p.overlay.state = body
	case http.MethodDelete:
		p.overlay.state = nil
	}
	return true
}
