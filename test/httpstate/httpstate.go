// Package httpstate is a server of the engines' http backend that is not Cairn's, for tests.
package httpstate

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// A Server keeps one state in memory. As servers of other projects do, it rejects a wrong lock ID, and accepts a
// request that brings none.
type Server struct {
	mu          sync.Mutex
	state, lock []byte
}

// ServeHTTP answers GET, POST, DELETE, LOCK and UNLOCK.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && s.state == nil:
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		_, _ = w.Write(s.state)
	case r.Method == "LOCK" && s.lock != nil:
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(s.lock)
	case r.Method == "LOCK":
		s.lock = body
	case r.Method == "UNLOCK" && s.holds(idIn(body)):
		s.lock = nil
	case r.Method == http.MethodPost && s.holds(r.URL.Query().Get("ID")):
		s.state = body
	case r.Method == http.MethodDelete && s.holds(r.URL.Query().Get("ID")):
		s.state = nil
	case r.Method == "UNLOCK" || r.Method == http.MethodPost || r.Method == http.MethodDelete:
		http.Error(w, "the lock has another ID", http.StatusConflict)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// LockID is the ID of the lock that is held; empty when none is.
func (s *Server) LockID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return idIn(s.lock)
}

func (s *Server) holds(id string) bool { return id == "" || id == idIn(s.lock) }

func idIn(lock []byte) string {
	var info struct{ ID string }
	_ = json.Unmarshal(lock, &info)
	return info.ID
}
