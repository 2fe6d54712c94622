package stateproxy

import "net/http"

// BeginOverlay lets the engine work on a copy of the state until EndOverlay.
func (p *Proxy) BeginOverlay(state []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overlaid, p.overlay = true, state
}

// EndOverlay returns what the engine wrote into the copy.
func (p *Proxy) EndOverlay() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.overlaid, p.overlay = false, nil }()
	return p.overlay
}

// serveOverlay answers for the copy, if there is one.
func (p *Proxy) serveOverlay(w http.ResponseWriter, method string, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.overlaid {
		return false
	}
	switch method {
	case http.MethodGet:
		if p.overlay == nil {
			w.WriteHeader(http.StatusNotFound)
			break
		}
		_, _ = w.Write(p.overlay)
	case http.MethodPost:
		p.overlay = body
	case http.MethodDelete:
		p.overlay = nil
	}
	return true
}
