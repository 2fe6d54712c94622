package runner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// operationsOf returns the states of each resource in an apply, in order.
func (s *testServer) operationsOf(attempt int32) map[string][]runnerapi.OperationState {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	states := map[string][]runnerapi.OperationState{}
	for line := range bytes.Lines(s.operations[attempt]) {
		var o runnerapi.Operation
		if err := json.Unmarshal(line, &o); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if o.At.IsZero() || o.Action != "create" {
			s.t.Errorf("%+v", o)
		}
		states[o.Address] = append(states[o.Address], o.State)
	}
	return states
}

// What an engine does is reported while it runs: of one that is killed it is known what it had begun.
func TestOperationsOfAnApplyAreReported(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.planAndKillApply(engine, filepath.Join(t.TempDir(), "made"))
			if s.operations[1] != nil {
				t.Errorf("a plan has operations: %s", s.operations[1])
			}
			checkStates(t, s.operationsOf(2), map[string]string{
				`terraform_data.a["x"]`: "Started Succeeded", `terraform_data.a["y"]`: "Started Succeeded",
				"terraform_data.b": "Started",
			})

			failing := s.put(file("main.tf", `
resource "terraform_data" "fails" {
  provisioner "local-exec" { command = "exit 3" }
}`))
			order := s.plan(3, failing)
			order.Engine = engine
			run(t, s, nil, s.planned(order, nil))
			checkStates(t, s.operationsOf(4), map[string]string{"terraform_data.fails": "Started Failed"})
		})
	}
}

// The server is unavailable when the apply ends, and the report is the first that it receives.
func TestOperationsThatArriveAfterTheReportAreKept(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "fails" {
  provisioner "local-exec" { command = "exit 3" }
}`))), nil)
	apply.Patience = time.Minute
	s.refuse = func(r *http.Request) int {
		s.mu.Lock()
		defer s.mu.Unlock()
		if all := s.reports[2]; r.URL.Path == "/v1/operations" && (len(all) == 0 || all[len(all)-1].Done == nil) {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	run(t, s, nil, apply)
	checkStates(t, s.operationsOf(2), map[string]string{"terraform_data.fails": "Started Failed"})
}

func checkStates(t *testing.T, got map[string][]runnerapi.OperationState, want map[string]string) {
	t.Helper()
	for address, states := range want {
		text := ""
		for i, state := range got[address] {
			if i > 0 {
				text += " "
			}
			text += string(state)
		}
		if text != states {
			t.Errorf("%s: %s, want %s; all: %v", address, text, states, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v; want %v", got, want)
	}
}
