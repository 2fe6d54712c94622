package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/runnerapi"
)

// oneStore is the runner API for one Stack, as far as a plan and its apply need it.
type oneStore struct {
	server *httptest.Server
	order  runnerapi.Order
	source []byte

	mu      sync.Mutex
	plan    []byte
	json    []byte
	state   []byte
	outputs runnerapi.Outputs
	done    map[runnerapi.OrderKind]*runnerapi.Done
	log     []byte
}

// newStore serves the archive of a Stack's code. The runner first gets the order to plan, then the one to apply.
func newStore(t *testing.T, order runnerapi.Order, source []byte) *oneStore {
	t.Helper()
	s := &oneStore{order: order, source: source, done: map[runnerapi.OrderKind]*runnerapi.Done{}}
	s.server = httptest.NewUnstartedServer(s)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

func (s *oneStore) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *oneStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path == "/v1/interrupt" { // held until the attempt ends
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	path, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch r.Method + " " + path {
	case "GET order":
		answer(s.nextOrder())
	case "GET sources":
		_, _ = w.Write(s.source)
	case "PUT plan":
		if name == "" {
			s.plan = body
			answer(runnerapi.PlanKept{Digest: digest(body)})
		} else if strings.HasSuffix(name, "/document") {
			var document runnerapi.PlanDocument
			f, err := planfile.Read(s.plan)
			if err = errors.Join(err, json.Unmarshal(body, &document)); err == nil {
				s.json, err = f.Document(document.Plan)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnprocessableEntity)
				return
			}
		}
	case "GET state":
		if s.state == nil {
			http.NotFound(w, r)
		}
		_, _ = w.Write(s.state)
	case "POST state":
		s.state = body
	case "LOCK state", "UNLOCK state", "PUT inputs", "POST journal":
	case "PUT backend":
		answer(runnerapi.Followed{})
	case "GET journal":
		answer(runnerapi.JournalEntries{})
	case "POST outputs":
		_ = json.Unmarshal(body, &s.outputs)
	case "POST logs":
		s.log = append(s.log, body...)
	case "POST steps":
		var report runnerapi.Report
		if json.Unmarshal(body, &report) == nil && report.Done != nil {
			s.done[s.order.Kind] = report.Done
		}
	default:
		http.Error(w, "the test's store does not serve this", http.StatusNotFound)
	}
}

// nextOrder is the plan, then the apply of a plan that has changes, then the end.
func (s *oneStore) nextOrder() runnerapi.Order {
	planned := s.done[runnerapi.OrderPlan]
	switch {
	case s.order.Kind == "":
		s.order.Kind, s.order.Attempt = runnerapi.OrderPlan, 1
	case s.order.Kind == runnerapi.OrderPlan && planned != nil && planned.Plan != nil && planned.Plan.Changes:
		s.order.Kind, s.order.Attempt, s.order.PlanDigest = runnerapi.OrderApply, 2, planned.Plan.Digest
	default:
		return runnerapi.Order{Kind: runnerapi.OrderExit}
	}
	return s.order
}
