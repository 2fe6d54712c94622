package runner

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

func TestErrorsOfUsersAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		code, engine string
		files        map[string]string
		steps        string
		message      string
	}{
		"a syntax error": {code: "resource {\n", steps: "fetch= init!", message: "(main.tf:1)"},
		"a missing variable": {code: `variable "need" {}`, steps: "fetch= init= plan!",
			message: `No value for required variable: The root module input variable "need" is not set`},
		"a cloud block": {code: "terraform {\n cloud {}\n}", steps: "fetch!",
			message: "main.tf:2: the code keeps its state in a cloud block"},
		"another engine": {code: two, engine: "~> 1.11.0", steps: "fetch= engine!",
			message: "this image has OpenTofu 1.12.6, and the Stack asks for ~> 1.11.0"},
		"no constraint": {code: two, engine: "newest", steps: "fetch= engine!", message: `version constraint "newest"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", test.code)))
			order.EngineVersion = test.engine
			run(t, s, nil, order)
			report := s.done(1)
			failure := report.Done.Failure
			if steps(report) != test.steps || failure == nil || failure.Class != "ConfigurationError" ||
				!strings.Contains(failure.Message, test.message) {
				t.Errorf("%s %+v", steps(report), failure)
			}
			words := strings.Fields(test.steps)
			broken := strings.TrimSuffix(words[len(words)-1], "!")
			if got := step(t, report, broken).Message; got != failure.Message {
				t.Errorf("%q", got)
			}
			if rest := step(t, report, "plan"); broken != "plan" && (rest.State != "Skipped" || rest.Message != broken+
				" failed" || rest.StartedAt != nil) {
				t.Errorf("%+v", rest)
			}
			if said := strings.Fields(test.message)[0]; name != "a syntax error" &&
				!strings.Contains(string(s.logs[1]), said) {
				t.Errorf("the log does not say it:\n%s", s.logs[1])
			}
		})
	}
}

func TestBytesMustMatchTheOrder(t *testing.T) {
	s := newTestServer(t)
	source := s.put(file("main.tf", two))
	apply := s.planned(s.plan(1, source), nil)
	s.plans[apply.PlanDigest] = append([]byte{}, s.plans[apply.PlanDigest]...)
	s.plans[apply.PlanDigest][10] ^= 1
	run(t, s, nil, apply)
	if report := s.done(2); steps(report) != "fetch!" || report.Done.Failure.Class != "Transient" ||
		!strings.Contains(report.Done.Failure.Message, "its digest is sha256:") {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	s.sources[source] = s.putArchive(file("main.tf", two+"\n"))
	run(t, s, nil, s.plan(3, source))
	if report := s.done(3); steps(report) != "fetch!" || !strings.Contains(report.Done.Failure.Message,
		"fetch the code: its digest is") {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

// This holds in the pod that planned too.
func TestPlanInTheWorkspaceMustBeTheApprovedOne(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	p := startPod(t, s, nil)
	s.orders <- order
	first := waitDone(t, s, 1)
	path := filepath.Join(p.work, "plan")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(2)
	if steps(report) != "apply!" || !strings.HasPrefix(report.Done.Failure.Message,
		"the plan is not the one that was approved") || s.lock != nil || s.inputs.Files != nil {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

func (s *testServer) putArchive(files ...entry) []byte { return s.sources[s.put(files...)] }

func TestPlanIsAppliedOnlyOnce(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	again := apply
	again.Attempt++
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/state" {
			return http.StatusForbidden
		}
		return 0
	}
	run(t, s, nil, apply, again)
	if report := s.done(3); !strings.Contains(report.Done.Failure.Message, "the apply of this plan was begun before") {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

func TestOutputsThatCannotBeWrittenAreNoFailure(t *testing.T) {
	for _, code := range []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		s := newTestServer(t)
		order := s.plan(1, s.put(file("main.tf", two)))
		order.Outputs = true
		apply := s.planned(order, nil)
		s.refuse = func(r *http.Request) int {
			if r.URL.Path == "/v1/outputs" {
				return code
			}
			return 0
		}
		run(t, s, nil, apply)
		report := s.done(2)
		if steps(report) != "fetch= init= apply= outputs!" || report.Done.Failure != nil ||
			len(report.Done.Outputs) != 1 {
			t.Errorf("%d: %s %+v", code, steps(report), report.Done)
		}
		if got, want := report.Steps[3].Message,
			fmt.Sprintf("write the outputs: the server answered %d: refused by the test", code); got != want {
			t.Errorf("%q", got)
		}
	}
}

// An older engine shows the lock that it requested instead of the one that is held.
func TestHeldLockIsReportedWithTheMessageOfTheServer(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	s.lock = []byte(`{"ID":"other","Who":"alice","Info":"the state is locked by user alice (dev@laptop)"}`)
	run(t, s, nil, apply)
	failure := s.done(2).Done.Failure
	if failure.Class != "Transient" || failure.Message != "Error acquiring the state lock: the state is locked by "+
		"user alice (dev@laptop)" {
		t.Errorf("%+v", failure)
	}
}

func TestHeldLockIsReported(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	s.lock = []byte(`{"ID":"other","Operation":"OperationTypeApply","Who":"somebody@else","Created":"2026-01-02T03:04:05Z"}`)
	run(t, s, nil, apply)
	failure := s.done(2).Done.Failure
	if failure.Class != "Transient" || !strings.Contains(failure.Message, "Error acquiring the state lock") ||
		!strings.Contains(failure.Message, "somebody@else") {
		t.Errorf("%+v", failure)
	}
}
