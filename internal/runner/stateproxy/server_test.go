package stateproxy

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// stateServer is a server that checks locks, lineages and serials, for one state.
type stateServer struct {
	server *httptest.Server

	mu          sync.Mutex
	state, lock []byte
	requests    []string
	// namesBase: the answer to a lock has the digest of the state.
	namesBase bool
}

// newServer starts a server, and returns a client for it.
func newServer(t *testing.T) (*stateServer, *runnerapi.Client) {
	t.Helper()
	s := &stateServer{}
	s.server = httptest.NewTLSServer(s)
	t.Cleanup(s.server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	const patience = 200 * time.Millisecond
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	client, err := runnerapi.NewClient(runnerapi.ClientOptions{URL: s.server.URL, CA: ca, TokenFile: token,
		Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return s, client.For(1, patience)
}

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	switch {
	case r.Method == http.MethodGet && s.state == nil:
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		w.Write(s.state)
	case r.Method == "LOCK" && s.lock == nil:
		s.lock = body
		if s.namesBase {
			_ = json.NewEncoder(w).Encode(runnerapi.Locked{Base: digestOf(s.state)})
		}
	case r.Method == "UNLOCK" && s.lock != nil && parsed(s.lock).ID == parsed(body).ID:
		s.lock = nil
	case r.Method == http.MethodPost && s.lock != nil && parsed(s.lock).ID == r.URL.Query().Get("ID"):
		was, is := parsed(s.state), parsed(body)
		if s.state != nil && (is.Lineage != was.Lineage || is.Serial <= was.Serial) {
			http.Error(w, fmt.Sprintf("serial %d of %s is there", was.Serial, was.Lineage), http.StatusConflict)
			return
		}
		s.state = body
	default:
		w.WriteHeader(http.StatusLocked)
		w.Write(s.lock)
	}
}

// parsed is a lock or a state.
func parsed(data []byte) (v struct {
	ID, Lineage string
	Serial      int64
}) {
	json.Unmarshal(data, &v)
	return v
}
