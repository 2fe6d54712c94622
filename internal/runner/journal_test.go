package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

// bothEngines are those that write events: one into a file, one to its output.
var bothEngines = []string{"OpenTofu", "Terraform"}

// killable is code whose second resource waits, and writes the engine's process id, so that the engine is killed in the
// middle. Each creation adds a line to a file.
func killable(log string) string {
	return `
resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  provisioner "local-exec" { command = "echo ${each.key} >>` + log + `" }
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  ` + strings.ReplaceAll(writePID, "sleep %SLEEP%", "[ -e "+log+".again ] || sleep 60") + `
}`
}

// planAndKillApply plans and applies code of two resources and one that waits, and kills the engine once the server has
// received the two.
func (s *testServer) planAndKillApply(engine, log string) (source string) {
	s.t.Helper()
	source = s.put(file("main.tf", killable(log)))
	order := s.plan(1, source)
	order.Engine = engine
	s.killApply(s.planned(order, nil), 2)
	if err := os.WriteFile(log+".again", nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return source
}

// killApply applies, and kills the engine once the server has received that many journal entries.
func (s *testServer) killApply(apply runnerapi.Order, after int) {
	s.t.Helper()
	p := startPod(s.t, s, nil)
	s.orders <- apply
	pid := enginePID(s.t, p.work)
	wait(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.journal) >= after
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	waitDone(s.t, s, apply.Attempt)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		s.t.Fatal(err)
	}
	if done := s.done(apply.Attempt).Done; done.Saved || done.Failure == nil {
		s.t.Fatalf("%+v", done)
	}
	s.lock = nil // as Cairn does once the pod is known to be gone
}

// addresses are what the state has, and ids what identifies it.
func (s *testServer) ids() map[string]string {
	var state struct {
		Resources []struct {
			Name      string
			Instances []struct {
				Key        any `json:"index_key"`
				Deposed    string
				Attributes struct{ ID string }
			}
		}
	}
	if len(s.state) > 0 {
		if err := json.Unmarshal(s.state, &state); err != nil {
			s.t.Fatal(err)
		}
	}
	ids := map[string]string{}
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			name := r.Name
			if i.Key != nil {
				name += fmt.Sprintf("[%v]", i.Key)
			}
			ids[name+i.Deposed] = i.Attributes.ID
		}
	}
	return ids
}

// created returns the IDs of the last creations in the journal.
func (s *testServer) created() map[string]string {
	ids := map[string]string{}
	for _, e := range s.journal {
		if e.Action == "create" {
			ids[strings.NewReplacer("terraform_data.", "", `"`, "").Replace(e.Address)] = e.ID
		}
	}
	return ids
}

// No resource is created twice.
func TestResourcesOfAKilledEngineAreImported(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			log := filepath.Join(t.TempDir(), "made")
			source := s.planAndKillApply(engine, log)
			made := s.created()
			if s.state != nil || len(made) != 2 || s.journal[0].Type != "terraform_data" || s.journal[0].IDKey != "id" {
				t.Fatalf("state %s, journal %+v", s.state, s.journal)
			}
			order := s.plan(3, source)
			order.Engine = engine
			apply := s.planned(order, nil)
			plan := s.done(3).Done.Plan
			if plan.Import != 2 || plan.Add != 1 || plan.Untracked != nil {
				t.Fatalf("%+v\n%s", plan, s.logs[3])
			}
			if log := string(s.logs[3]); !strings.Contains(log,
				"journal: an apply that was killed created terraform_data.a[\"x\"] ("+made["a[x]"]+
					"), and the state does not have it: it is imported") {
				t.Errorf("the log does not contain the import:\n%s", log)
			}
			run(t, s, nil, apply)
			done := s.done(4).Done
			if done.Failure != nil || !done.Saved || s.journal != nil {
				t.Fatalf("%+v, journal %v\n%s", done, s.journal, s.logs[4])
			}
			ids := s.ids()
			if ids["a[x]"] != made["a[x]"] || ids["a[y]"] != made["a[y]"] || len(ids) != 3 {
				t.Errorf("state %v, created %v", ids, made)
			}
			data, _ := os.ReadFile(log)
			lines := strings.Fields(string(data))
			if slices.Sort(lines); !slices.Equal(lines, []string{"x", "y"}) {
				t.Errorf("created %q", lines)
			}
		})
	}
}

// This holds even without any state.
func TestDestroyDeletesResourcesOfAKilledEngine(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			source := s.planAndKillApply(engine, filepath.Join(t.TempDir(), "made"))
			made := s.created()
			order := s.plan(3, source)
			order.Engine, order.Destroy = engine, true
			apply := s.planned(order, nil)
			if plan := s.done(3).Done.Plan; plan.Destroy != 2 || plan.Untracked != nil {
				t.Fatalf("%+v\n%s", plan, s.logs[3])
			}
			if s.state != nil || s.lock != nil {
				t.Fatal("a plan wrote the state")
			}
			s.mu.Lock()
			s.batches = nil
			s.mu.Unlock()
			run(t, s, nil, apply)
			gone := map[string]bool{}
			for _, batch := range s.batches {
				for _, e := range batch {
					gone[e.ID] = e.Action == "delete"
				}
			}
			if done := s.done(4).Done; done.Failure != nil || len(s.ids()) != 0 || !gone[made["a[x]"]] ||
				!gone[made["a[y]"]] {
				t.Errorf("%+v, %v, %v of %v", done, s.ids(), gone, made)
			}
		})
	}
}

// The state has the old resource, which is deleted or will be. The new one is imported.
func TestKilledReplacementIsImported(t *testing.T) {
	for _, engine := range bothEngines {
		for order, lifecycle := range map[string]string{
			"destroyed first": "", "created first": "lifecycle { create_before_destroy = true }",
			"and the state knows that it is to go": "",
		} {
			t.Run(engine+", "+order, func(t *testing.T) {
				t.Parallel()
				s := newTestServer(t)
				log := filepath.Join(t.TempDir(), "made")
				code := func(v, more string) string {
					return s.put(file("main.tf", `
resource "terraform_data" "a" {
  `+lifecycle+`
  provisioner "local-exec" { command = "echo `+v+` >>`+log+`" }
}
`+more))
				}
				first := s.plan(1, code("1", ""))
				first.Engine = engine
				run(t, s, nil, s.planned(first, nil))
				old := s.ids()["a"]
				// Tainted, so that it is replaced though nothing else changed: terraform_data forgets at an import what
				// it was made with.
				s.state = bytes.Replace(s.state, []byte(`"schema_version"`),
					[]byte(`"status":"tainted","schema_version"`), 1)
				// Where it is created first, the old one is destroyed only after what depends on it, which waits.
				source := code("2", `
resource "terraform_data" "b" {
  input = terraform_data.a.id
  `+strings.ReplaceAll(writePID, "sleep %SLEEP%", "[ -e "+log+".again ] || sleep 60")+`
}`)
				second := s.plan(3, source)
				second.Engine = engine
				s.killApply(s.planned(second, nil), 1)
				if err := os.WriteFile(log+".again", nil, 0o600); err != nil {
					t.Fatal(err)
				}
				made := s.created()["a"]
				if made == "" || s.ids()["a"] != old {
					t.Fatalf("state %v, journal %+v", s.ids(), s.journal)
				}
				if strings.HasPrefix(order, "and") {
					s.state = bytes.Replace(s.state, []byte(`"status":"tainted"`), []byte(`"deposed":"deadbeef"`), 1)
				}
				third := s.plan(5, source)
				third.Engine = engine
				apply := s.planned(third, nil)
				run(t, s, nil, apply)
				done := s.done(6).Done
				if ids := s.ids(); done.Failure != nil || ids["a"] != made || len(ids) != 2 {
					t.Errorf("%+v, state %v, created %s\n%s", done.Failure, ids, made, s.logs[5])
				}
				data, _ := os.ReadFile(log)
				if string(data) != "1\n2\n" {
					t.Errorf("created %q", data)
				}
			})
		}
	}
}

// They are left out, and the plan continues.
func TestResourcesThatCannotBeImportedAreReported(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.journal = []runnerapi.JournalEntry{
				{Address: "terraform_data.a", Type: "terraform_data", Action: "create", IDKey: "id", ID: "id-of-a"},
				{Address: "terraform_data.gone", Type: "terraform_data", Action: "create", IDKey: "id",
					ID: "id-of-gone"},
				{Address: "module.gone[0].terraform_data.x", Type: "terraform_data", Action: "create", IDKey: "id",
					ID: "id-of-x"},
				{Address: `terraform_data.c["gone"]`, Type: "terraform_data", Action: "create", IDKey: "id",
					ID: "id-of-gone-c"},
				{Address: `terraform_data.c["there"]`, Type: "terraform_data", Action: "create", IDKey: "id",
					ID: "id-of-c"},
				{Address: "terraform_data.b", Type: "terraform_data", Action: "create"},
			}
			order := s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "a" {}
resource "terraform_data" "b" {}
resource "terraform_data" "c" { for_each = toset(["there"]) }`)))
			order.Engine = engine
			run(t, s, nil, order)
			plan := s.done(1).Done.Plan
			if plan == nil || plan.Import != 2 || plan.Add != 1 {
				t.Fatalf("%+v\n%s", plan, s.logs[1])
			}
			var left []string
			for _, o := range plan.Untracked {
				left = append(left, o.Address)
				want := "the code does not declare it any more"
				if o.Address == "terraform_data.b" {
					want = "the engine reported no ID of it"
				}
				if o.Reason != want && (engine != "Terraform" || o.Address != "module.gone[0].terraform_data.x") {
					t.Errorf("%+v", o)
				}
			}
			slices.Sort(left)
			if diff := cmp.Diff([]string{"module.gone[0].terraform_data.x", "terraform_data.b",
				`terraform_data.c["gone"]`, "terraform_data.gone"}, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A resource that another user created at the address is not taken for the replaced one: a plan keeps it and reports
// the other one. A destroy deletes both.
func TestReplacedResourceOfAnotherCreatorIsKept(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			source := s.put(file("main.tf", `resource "terraform_data" "a" {}`))
			first := s.plan(1, source)
			first.Engine = engine
			run(t, s, nil, s.planned(first, nil))
			s.journal = []runnerapi.JournalEntry{
				{Address: "terraform_data.a", Type: "terraform_data", Action: "create", IDKey: "id", ID: "id-of-a"},
				{Address: "terraform_data.a", Type: "terraform_data", Action: "instead", IDKey: "id"},
			}
			second := s.plan(3, source)
			second.Engine = engine
			s.planned(second, nil)
			plan := s.done(3).Done.Plan
			want := []runnerapi.UntrackedResource{
				{Address: "terraform_data.a", Reason: "the state has another one at its address, which a user put " +
					"there since"}}
			if diff := cmp.Diff(want, plan.Untracked); diff != "" || plan.Changes {
				t.Errorf("%+v %s\n%s", plan, diff, s.logs[3])
			}
			third := s.plan(5, source)
			third.Engine, third.Destroy = engine, true
			s.planned(third, nil)
			if plan := s.done(5).Done.Plan; plan.Destroy != 2 || plan.Untracked != nil {
				t.Errorf("%+v\n%s", plan, s.logs[5])
			}
		})
	}
}

// The plan fails as it would without a journal.
func TestPlanThatFailsWithoutImportsLeavesNothingOut(t *testing.T) {
	s := newTestServer(t)
	s.journal = []runnerapi.JournalEntry{{Address: "terraform_data.a", Type: "terraform_data", Action: "create",
		IDKey: "id", ID: "id-of-a"}}
	run(t, s, nil, s.plan(1, s.put(file("main.tf", `variable "day" { default = "Friday" }
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = var.day != "Friday"
      error_message = "not today"
    }
  }
}`))))
	done := s.done(1).Done
	if done.Failure == nil || !strings.Contains(done.Failure.Message, "not today") ||
		strings.Contains(string(s.logs[1]), "cannot be taken") {
		t.Errorf("%+v\n%s", done, s.logs[1])
	}
}

// Two imports of the same resource cannot be planned together, so only that of the code is.
func TestImportBlockOfTheCodeIsKept(t *testing.T) {
	for _, engine := range bothEngines {
		s := newTestServer(t)
		s.journal = []runnerapi.JournalEntry{{Address: "terraform_data.a", Type: "terraform_data", Action: "create",
			IDKey: "id", ID: "id-of-a"}}
		order := s.plan(1, s.put(file("main.tf", `resource "terraform_data" "a" {}
import {
  to = terraform_data.a
  id = "their-id"
}`)))
		order.Engine = engine
		run(t, s, nil, order)
		if plan := s.done(1).Done.Plan; plan == nil || plan.Import != 1 || len(plan.Untracked) != 1 {
			t.Errorf("%s: %+v\n%s", engine, plan, s.logs[1])
		}
	}
}

// The journal does not delay the engine, and is sent before the report if the state is not.
func TestJournalWhileTheServerIsUnavailable(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	apply.Patience = time.Minute
	refused := 0
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/journal" {
			if refused++; refused < 4 {
				return http.StatusServiceUnavailable
			}
		}
		return refuseStates(http.StatusConflict)(r) // so that it is rescued, and the journal is of use still
	}
	run(t, s, nil, apply)
	if len(s.created()) != 2 || s.done(2).Done.Saved || s.requests[len(s.requests)-1] == "POST /v1/journal" {
		t.Errorf("%+v\n%v", s.journal, s.requests)
	}
}

// The journal does not matter while the state is written.
func TestRejectedJournalIsNoFailure(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/journal" {
			return http.StatusForbidden
		}
		return 0
	}
	run(t, s, nil, apply)
	if done := s.done(2).Done; done.Failure != nil || !done.Saved || len(s.resources()) != 2 {
		t.Errorf("%+v", done)
	}
}

// The plan of this apply is stale.
func TestApplyWithoutAStateKeepsTheJournal(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Engine = engine
			run(t, s, nil, s.planned(order, nil))
			order = s.plan(3, s.put(file("main.tf", `resource "terraform_data" "c" {}`)))
			order.Engine = engine
			apply := s.planned(order, nil)
			var state map[string]any
			if err := json.Unmarshal(s.state, &state); err != nil {
				t.Fatal(err)
			}
			state["serial"] = 99
			s.state, _ = json.Marshal(state)
			s.journal = []runnerapi.JournalEntry{{Address: "terraform_data.lost", Type: "terraform_data",
				Action: "create", IDKey: "id", ID: "id"}}
			s.requests = nil
			run(t, s, nil, apply)
			done := s.done(4).Done
			if done.Failure == nil || done.Saved || len(s.journal) != 1 ||
				!slices.Contains(s.requests, "UNLOCK /v1/state") {
				t.Errorf("%+v, journal %v\n%v\n%s", done, s.journal, s.requests, s.logs[4])
			}
		})
	}
}

// A plan ends a journal whose resources are all in the state, with other changes or without. It does not if a resource
// remains to be imported, or could not be.
func TestPlanEndsAJournal(t *testing.T) {
	const a = `resource "terraform_data" "a" {}`
	for name, tt := range map[string]struct {
		code  string
		lost  string // the address of another resource that was created
		ended bool
	}{
		"without changes":               {a, "", true},
		"with changes":                  {a + "\n" + `resource "terraform_data" "b" {}`, "", true},
		"a resource is to be imported":  {a + "\n" + `resource "terraform_data" "b" {}`, "terraform_data.b", false},
		"a resource is not in the code": {a, "terraform_data.b", false},
	} {
		for _, engine := range bothEngines {
			t.Run(engine+", "+name, func(t *testing.T) {
				t.Parallel()
				s := newTestServer(t)
				order := s.plan(1, s.put(file("main.tf", a)))
				order.Engine = engine
				run(t, s, nil, s.planned(order, nil))
				creation := func(address, id string) runnerapi.JournalEntry {
					return runnerapi.JournalEntry{Address: address, Type: "terraform_data", Action: "create",
						IDKey: "id", ID: id}
				}
				s.journal = []runnerapi.JournalEntry{creation("terraform_data.a", s.ids()["a"])}
				if tt.lost != "" {
					s.journal = append(s.journal, creation(tt.lost, "id-of-it"))
				}
				order = s.plan(3, s.put(file("main.tf", tt.code)))
				order.Engine = engine
				run(t, s, nil, order)
				if done := s.done(3).Done; done.Plan == nil || (done.Settled == journalEnd) != tt.ended ||
					(s.journal == nil) != tt.ended {
					t.Errorf("%+v, journal %v\n%s", done, s.journal, s.logs[3])
				}
			})
		}
	}
}

// A user has to decide about such a journal.
func TestUnreadableJournalIsNotRetried(t *testing.T) {
	for code, class := range map[int]string{http.StatusConflict: "ConfigurationError",
		http.StatusBadRequest: "ConfigurationError", http.StatusServiceUnavailable: "Transient"} {
		s := newTestServer(t)
		s.refuse = func(r *http.Request) int {
			if r.URL.Path == "/v1/journal" {
				return code
			}
			return 0
		}
		order := s.plan(1, s.put(file("main.tf", two)))
		order.Patience = time.Millisecond
		run(t, s, nil, order)
		if f := s.done(1).Done.Failure; f == nil || f.Class != class ||
			!strings.Contains(f.Message, "refused by the test") {
			t.Errorf("%d: %+v", code, f)
		}
	}
}

// They are reported by name, even if there are more than a plan imports.
func TestResourcesLeftOutOfAPlanAreReported(t *testing.T) {
	s := newTestServer(t)
	const fit = 101 // with IDs of 10 KiB
	for i := range fit + 2 {
		s.journal = append(s.journal, runnerapi.JournalEntry{
			Address: fmt.Sprintf("terraform_data.a[%d]", i), Type: "terraform_data", Action: "create", IDKey: "id",
			ID: fmt.Sprintf("%010240d", i),
		})
	}
	run(t, s, nil, s.plan(1, s.put(
		file("main.tf", fmt.Sprintf(`resource "terraform_data" "a" { count = %d }`, fit+2)))))
	plan := s.done(1).Done.Plan
	if plan == nil || plan.Import != fit || plan.Add != 2 {
		t.Fatalf("%+v\n%.3000s", plan, s.logs[1])
	}
	const why = "one plan takes in at most 500 resources, and at most 1024 KiB of import blocks"
	want := []runnerapi.UntrackedResource{{Address: `terraform_data.a[99]`, Reason: why},
		{Address: `terraform_data.a[9]`, Reason: why}}
	if diff := cmp.Diff(want, plan.Untracked); diff != "" ||
		!strings.Contains(string(s.logs[1]), "it cannot be taken into the state: "+why) {
		t.Error(diff)
	}
}

// A part of the plan could leave out what is to be taken into the state.
func TestPlanWithOptionsWaitsForAJournal(t *testing.T) {
	s := newTestServer(t)
	s.journal = []runnerapi.JournalEntry{{Address: "terraform_data.a", Type: "terraform_data", Action: "create",
		IDKey: "id", ID: "id-of-a"}}
	order := s.plan(1, s.put(file("main.tf", `resource "terraform_data" "a" {}`)))
	order.PlanOptions = &runnerapi.PlanOptions{Replace: []string{"terraform_data.a"}}
	run(t, s, nil, order)
	done := s.done(1).Done
	if done.Failure == nil || done.Failure.Class != runnerapi.FailureConfigurationError ||
		!strings.Contains(done.Failure.Message, "an apply was killed") || s.journal == nil {
		t.Errorf("%+v\n%s", done, s.logs[1])
	}
}
