package runner

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// testServer is a server that implements internal/runnerapi, with real checks of lock, serial and digest, for one
// Stack.
type testServer struct {
	t      testing.TB
	server *httptest.Server
	orders chan runnerapi.Order // closed: exit

	mu       sync.Mutex
	attempt  int32 // the attempt that requests are accepted for
	sources  map[string][]byte
	plans    map[string][]byte
	state    []byte
	versions int
	lock     []byte
	inputs   runnerapi.InputsKept
	rescued  []byte
	base     string // of what was rescued
	forked   string // is answered to a rescue
	outputs  runnerapi.Outputs
	others   map[string]runnerapi.Output // outputs of other Stacks, by stack/output
	engines  map[string]engineKept       // by name
	// downloads are what is answered before an engine is there, one at a time; the last one for ever when it is
	// unreachable.
	downloads []runnerapi.Download
	reports   map[int32][]runnerapi.Report
	logs      map[int32][]byte
	// operations are the lines of applies, by attempt.
	operations map[int32][]byte
	requests   []string
	forms      map[string][]byte // forms of plans, by digest/form
	verdict    runnerapi.PolicyResult
	checked    []string // plans that the policies were asked about
	// cancels are the responses to requests for interrupts; held is how long a request waits for one.
	cancels chan string
	held    time.Duration
	// grace is what a hook has that is to end; short when zero, for those that do not use it.
	grace time.Duration
	// quiet: the pods' own logs are not kept.
	quiet bool
	// work is the workspace of all pods; empty for one of its own for each.
	work string
	// cgroup is the control group of the pod's container.
	cgroup string
	// journal has the entries of applies until one was saved; batches are the received ones, by attempt and number.
	journal []runnerapi.JournalEntry
	batches map[string][]runnerapi.JournalEntry
	// backend is what is known of the engine's own, and move says that the state has to move there.
	backend *v1alpha1.StateBackend
	move    bool
	// seen is what it was seen to have last.
	seen []byte
	// refuse may answer a request with a status of its own.
	refuse func(r *http.Request) int
}

// journalEnd names the end of every journal.
const journalEnd = "the-end"

func newTestServer(t testing.TB) *testServer {
	t.Helper()
	s := &testServer{
		t: t, orders: make(chan runnerapi.Order, 10), sources: map[string][]byte{}, plans: map[string][]byte{},
		reports: map[int32][]runnerapi.Report{}, logs: map[int32][]byte{}, operations: map[int32][]byte{},
		forms:   map[string][]byte{},
		cancels: make(chan string, 1), held: 30 * time.Second, cgroup: t.TempDir(),
	}
	s.server = httptest.NewUnstartedServer(s)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

func (s *testServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

// put keeps code and gives its digest.
func (s *testServer) put(files ...entry) string {
	data := archive(s.t, files...)
	sum, err := workspace.Digest(bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	s.sources[sum] = data
	return sum
}

// done gives the last report of an attempt.
func (s *testServer) done(attempt int32) runnerapi.Report {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.reports[attempt]
	if len(all) == 0 || all[len(all)-1].Done == nil {
		s.t.Fatalf("attempt %d was not reported to its end: %+v\n%s", attempt, all, s.logs[attempt])
	}
	for _, report := range all[:len(all)-1] {
		if report.Done != nil {
			s.t.Errorf("attempt %d was done before its last report", attempt)
		}
	}
	return all[len(all)-1]
}

func (s *testServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	refuse := s.refuse
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	if refuse != nil {
		if code := refuse(r); code != 0 {
			http.Error(w, "refused by the test", code)
			return
		}
	}
	if r.URL.Path == "/v1/order" {
		s.order(w, r)
		return
	}
	if r.URL.Path == "/v1/interrupt" {
		s.interrupt(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get(runnerapi.AttemptHeader) != strconv.Itoa(int(s.attempt)) {
		http.Error(w, "the Run names another attempt", http.StatusForbidden)
		return
	}
	s.serve(w, r, body)
}

func (s *testServer) order(w http.ResponseWriter, r *http.Request) {
	order := runnerapi.Order{Kind: runnerapi.OrderExit}
	select {
	case next, ok := <-s.orders:
		if ok {
			order = next
		}
	case <-r.Context().Done():
		return
	}
	s.mu.Lock()
	s.attempt = order.Attempt
	s.mu.Unlock()
	json.NewEncoder(w).Encode(order)
}

func (s *testServer) interrupt(w http.ResponseWriter, r *http.Request) {
	select {
	case reason := <-s.cancels: // which counts also when it was held for long enough by now
		json.NewEncoder(w).Encode(runnerapi.Interrupt{Reason: reason})
		return
	default:
	}
	select {
	case reason := <-s.cancels:
		json.NewEncoder(w).Encode(runnerapi.Interrupt{Reason: reason})
	case <-time.After(s.held):
		w.WriteHeader(http.StatusNoContent)
	case <-r.Context().Done():
	}
}

func (s *testServer) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	path, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	read := func(v any) {
		if err := json.Unmarshal(body, v); err != nil {
			s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
	}
	give := func(data []byte) {
		if data == nil {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	}
	if digest, form, ok := strings.Cut(name, "/"); ok && path == "plan" {
		s.serveForm(w, r, digest, form, body)
		return
	}
	switch r.Method + " " + path {
	case "GET sources":
		give(s.sources[name])
	case "GET plan":
		give(s.plans[name])
	case "PUT plan":
		sum, _ := workspace.Digest(bytes.NewReader(body))
		s.plans[sum] = body
		json.NewEncoder(w).Encode(runnerapi.PlanKept{Digest: sum})
	case "PUT inputs":
		s.inputs = runnerapi.InputsKept{}
		read(&s.inputs)
	case "GET inputs":
		json.NewEncoder(w).Encode(s.inputs)
	case "POST policy":
		if s.forms[name+"/json"] == nil {
			http.Error(w, "there is no such plan", http.StatusNotFound)
			return
		}
		s.checked = append(s.checked, name)
		json.NewEncoder(w).Encode(s.verdict)
	case "PUT rescue":
		s.rescued, s.base = body, r.URL.Query().Get("base")
		if s.forked != "" {
			json.NewEncoder(w).Encode(runnerapi.Rescued{Forked: s.forked})
		}
	case "GET engines":
		s.serveEngine(w, r, name)
	case "GET outputs":
		output, ok := s.others[name]
		if !ok {
			stack, output, _ := strings.Cut(name, "/")
			http.Error(w, fmt.Sprintf("output %s of Stack %s changed since Run net-1 was made", output, stack),
				http.StatusConflict)
			return
		}
		json.NewEncoder(w).Encode(output)
	case "POST outputs":
		s.outputs = runnerapi.Outputs{}
		read(&s.outputs)
	case "POST steps":
		var report runnerapi.Report
		read(&report)
		if all := s.reports[s.attempt]; report.Done == nil && len(all) > 0 && all[len(all)-1].Done != nil {
			http.Error(w, "the attempt is finished", http.StatusForbidden) // one that was given up on its way
			return
		}
		s.reports[s.attempt] = append(s.reports[s.attempt], report)
		if report.Done != nil && (report.Done.Saved || report.Done.Settled == journalEnd) {
			s.journal = nil
		}
	case "GET journal":
		json.NewEncoder(w).Encode(runnerapi.JournalEntries{Entries: s.journal, UpTo: journalEnd})
	case "POST journal":
		s.storeBatch(r, read)
	case "POST logs", "POST operations":
		to := s.logs
		if path == "operations" {
			to = s.operations
		}
		if have := len(to[s.attempt]); r.URL.Query().Get("offset") != strconv.Itoa(have) {
			http.Error(w, strconv.Itoa(have), http.StatusConflict)
			return
		}
		to[s.attempt] = append(to[s.attempt], body...)
	case "GET state":
		give(s.state)
	case "PUT backend":
		s.followBackend(w, r, body)
	case "POST state", "LOCK state", "UNLOCK state":
		s.writeState(w, r, body)
	default:
		http.Error(w, "no such thing", http.StatusNotFound)
	}
}

// storeBatch stores a batch of a journal once.
func (s *testServer) storeBatch(r *http.Request, read func(any)) {
	var batch runnerapi.JournalEntries
	read(&batch)
	name := fmt.Sprintf("%d/%s", s.attempt, r.URL.Query().Get("batch"))
	if _, again := s.batches[name]; again {
		return
	}
	if s.batches == nil {
		s.batches = map[string][]runnerapi.JournalEntry{}
	}
	s.batches[name] = batch.Entries
	s.journal = append(s.journal, batch.Entries...)
}

func (s *testServer) serveForm(w http.ResponseWriter, r *http.Request, digest, form string, body []byte) {
	name := digest + "/" + form
	switch {
	case s.plans[digest] == nil, r.Method == http.MethodGet && s.forms[name] == nil:
		http.NotFound(w, r)
	case form == "document":
		var document runnerapi.PlanDocument
		if err := json.Unmarshal(body, &document); err != nil {
			s.t.Error(err)
		}
		shown := []byte(document.Plan)
		if f, err := planfile.Read(s.plans[digest]); err != nil {
			s.t.Logf("the plan file of a fake engine: %v", err)
		} else if shown, err = f.Document(document.Plan); err != nil {
			s.t.Errorf("the JSON does not describe the plan file: %v\n%s", err, document.Plan)
		}
		secrets := redact.New()
		secrets.Add(document.Secrets...)
		shown, err := plan.Mask(shown, secrets.String, nil)
		if err != nil {
			s.t.Error(err)
		}
		s.forms[digest+"/json"] = shown
	default:
		w.Write(s.forms[name])
	}
}

// engineKept is an engine that the server has.
type engineKept struct {
	release runnerapi.EngineRelease
	program []byte
}

func (s *testServer) serveEngine(w http.ResponseWriter, r *http.Request, path string) {
	name, version, program := strings.Cut(path, "/")
	kept, ok := s.engines[name]
	if !ok || r.URL.Query().Get("os") != runtime.GOOS || r.URL.Query().Get("arch") != runtime.GOARCH {
		http.Error(w, fmt.Sprintf("there is no %s %s", name, r.URL.Query().Get("version")),
			http.StatusUnprocessableEntity)
		return
	}
	if program {
		if version != kept.release.Version {
			http.NotFound(w, r)
			return
		}
		w.Write(kept.program)
		return
	}
	if len(s.downloads) > 0 {
		w.WriteHeader(http.StatusAccepted)
		json.NewEncoder(w).Encode(s.downloads[0])
		if s.downloads[0].Unreachable == "" {
			s.downloads = s.downloads[1:]
		}
		return
	}
	json.NewEncoder(w).Encode(kept.release)
}

func (s *testServer) writeState(w http.ResponseWriter, r *http.Request, body []byte) {
	id := func(lock []byte) string {
		var info struct{ ID string }
		json.Unmarshal(lock, &info)
		return info.ID
	}
	version := func(state []byte) (v struct {
		Serial  int64
		Lineage string
	}) {
		json.Unmarshal(state, &v)
		return v
	}
	switch {
	case r.Method == "LOCK" && s.lock == nil:
		s.lock = body
		if s.state != nil {
			sum, _ := workspace.Digest(bytes.NewReader(s.state))
			json.NewEncoder(w).Encode(runnerapi.Locked{Base: sum})
		}
	case r.Method == "UNLOCK" && s.lock != nil && id(s.lock) == id(body):
		s.lock = nil
	case r.Method == "POST" && s.lock != nil && id(s.lock) == r.URL.Query().Get("ID"):
		was, is := version(s.state), version(body)
		if s.state != nil && (is.Lineage != was.Lineage || is.Serial <= was.Serial) {
			http.Error(w, fmt.Sprintf("serial %d of %s is there", was.Serial, was.Lineage), http.StatusConflict)
			return
		}
		s.state = body
		s.versions++
	default:
		w.WriteHeader(http.StatusLocked)
		w.Write(s.lock)
	}
}
