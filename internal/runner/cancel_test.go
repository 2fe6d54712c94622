package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// twenty resources, of which eight are there at once; each of the others takes minutes, one after the other, but for an
// engine that is interrupted.
func twenty() string {
	var code strings.Builder
	code.WriteString("resource \"terraform_data\" \"quick\" { count = 7 }\n")
	needs := "terraform_data.quick"
	for i := range 13 {
		sleep := 300
		if i == 0 {
			sleep = 0
		}
		fmt.Fprintf(&code, "resource \"terraform_data\" \"slow%d\" {\n  depends_on = [%s]\n  provisioner "+
			"\"local-exec\" { command = \"echo slow%d; sleep %d\" }\n}\n", i, needs, i, sleep)
		needs = fmt.Sprintf("terraform_data.slow%d", i)
	}
	return code.String()
}

// countCreated counts the resources that are completely created in the state.
func (s *testServer) countCreated() (n int32) {
	var state struct {
		Resources []struct{ Instances []struct{ Status string } }
	}
	json.Unmarshal(s.state, &state)
	for _, r := range state.Resources {
		for _, instance := range r.Instances {
			if instance.Status != "tainted" {
				n++
			}
		}
	}
	return n
}

// The engine finishes the operations in flight, the state is saved, the lock released, and the partial change is
// reported.
func TestCancelAnApplyOfSlowResources(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"OpenTofu", "Terraform"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", twenty())))
			order.Engine, order.Outputs = engine, true
			apply := s.planned(order, nil)
			apply.Hooks = []runnerapi.Hook{hookAt("After", "apply", "echo never")}
			p := startPod(t, s, nil)
			s.orders <- apply
			wait(t, func() bool { return strings.Contains(p.output.String(), "(local-exec): slow1") })
			begin := time.Now()
			s.cancels <- "canceled by bob"
			close(s.orders)
			report := waitDone(t, s, 2)
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			if allSteps(report) != "fetch= init= apply! after-apply- outputs-" ||
				*report.Done.Failure != (runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}) {
				t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
			}
			if step(t, report, "outputs").Message != "canceled by bob" {
				t.Errorf("%+v", report.Steps)
			}
			if changed := report.Done.Changed; changed == nil || *changed != 8 || *changed != s.countCreated() {
				t.Errorf("%v changed, %d created", changed, s.countCreated())
			}
			if s.lock != nil || s.rescued != nil || s.outputs != nil {
				t.Errorf("lock %s", s.lock)
			}
			log := string(s.logs[2])
			inOrder(t, log, "── canceled by bob: "+engine+" is interrupted and waited for ──")
			if strings.Contains(log, "Two interrupts") {
				t.Errorf("%s", log)
			}
		})
	}
}

// The cancellation is received as soon as the server is available again, and not before.
func TestCancelWhileTheServerIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.held = time.Millisecond // and answers too soon
	var asked atomic.Int32
	s.refuse = func(r *http.Request) int {
		if r.URL.Path != "/v1/interrupt" {
			return 0
		}
		switch asked.Add(1) {
		case 2:
			return http.StatusServiceUnavailable
		case 3:
			return http.StatusNotFound
		case 4:
			s.cancels <- ""
		}
		return 0
	}
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Hooks = []runnerapi.Hook{hookAt("Before", "init", "sleep 600")}
	run(t, s, nil, order)
	report := s.done(1)
	if allSteps(report) != "fetch= before-init! init- plan-" ||
		*report.Done.Failure != (runnerapi.Failure{Class: "Canceled", Message: "canceled"}) || asked.Load() != 4 {
		t.Errorf("%s %+v, asked %d times", allSteps(report), report.Done.Failure, asked.Load())
	}
}

// The runner waits to retry another request.
func TestCancelDuringARetryPause(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	var once atomic.Bool
	s.refuse = func(r *http.Request) int {
		if !strings.HasPrefix(r.URL.Path, "/v1/sources/") {
			return 0
		}
		if !once.Swap(true) {
			s.cancels <- "canceled by bob"
		}
		return http.StatusServiceUnavailable
	}
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Patience = time.Minute
	begin := time.Now()
	run(t, s, nil, order)
	report := s.done(1)
	if took := time.Since(begin); took > 20*time.Second || allSteps(report) != "fetch! init- plan-" ||
		*report.Done.Failure != (runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}) {
		t.Errorf("%s %+v after %s", allSteps(report), report.Done.Failure, took)
	}
}

// The hook ends with all processes that it started, even if it ignores the interrupt.
func TestCancelEndsAHook(t *testing.T) {
	t.Parallel()
	const enough = time.Minute // where it says itself what it does about a signal, however late it gets to that
	for name, test := range map[string]struct {
		script string
		code   int32
		grace  time.Duration
	}{
		"ends on SIGINT": {"trap 'echo cleaned up; exit 4' INT\necho $$ >pid\nwhile :; do " +
			"sleep 0.05; done", 4, enough},
		"does not handle SIGINT": {"sh -c 'echo $PPID >pid; exec sleep 600'; echo never", 130, enough},
		"ignores the first signal": {"trap '' INT\ntrap 'exit 5' TERM\necho $$ >pid\nwhile :; do " +
			"sleep 0.05; done", 5, 5 * time.Second},
		"ignores all signals but SIGKILL": {"trap '' INT TERM\necho $$ >pid\nwhile :; do sleep 0.05; done", 137,
			200 * time.Millisecond},
		"leaves a process that ignores signals": {"(trap '' INT TERM; echo $$ >other; exec sleep 600) &\ntrap 'exit " +
			"6' INT\necho $! >pid\nwhile :; do sleep 0.05; done", 6, enough},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.grace = test.grace
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Hooks = []runnerapi.Hook{{Step: "init", When: "Before", Script: test.script, Continue: true}}
			p := startPod(t, s, nil)
			s.orders <- order
			pid := readPID(t, filepath.Join(p.work, "code", "pid"))
			begin := time.Now()
			s.cancels <- "canceled by bob"
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(1)
			if took := time.Since(begin); took > 50*time.Second {
				t.Errorf("took %s", took)
			}
			if allSteps(report) != "fetch= before-init! init- plan-" ||
				*report.Done.Failure != (runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}) {
				t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
			}
			if got := step(t, report, "before-init").ExitCode; got == nil || *got != test.code {
				t.Errorf("exit code %v", *got)
			}
			wait(t, func() bool { return !alive(pid) })
			if log := string(s.logs[1]); strings.Contains(log, "never") || strings.Contains(log, "goes on") ||
				test.code == 4 && !strings.Contains(log, "cleaned up") {
				t.Errorf("%s", log)
			}
		})
	}
}

// A hook has no more time than its attempt, nor than its pod.
func TestHookEndsWithItsAttempt(t *testing.T) {
	t.Parallel()
	var s *testServer
	var order runnerapi.Order
	for timeout := time.Second; ; timeout *= 2 {
		s = newTestServer(t)
		order = s.plan(1, s.put(file("main.tf", two)))
		order.Timeout = timeout
		order.Hooks = []runnerapi.Hook{hookAt("Before", "init", "sleep 600")}
		p := run(t, s, nil, order)
		if timeout < time.Minute && !strings.Contains(p.output.String(), "── before-init ──") {
			continue // the machine is too busy to get to the hook in that time
		}
		want := runnerapi.Failure{Class: "Transient", Message: "timed out after " + timeout.String()}
		if report := s.done(1); allSteps(report) != "fetch= before-init! init- plan-" || *report.Done.Failure != want {
			t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
		}
		break
	}
	order.Attempt, order.Timeout = 2, 10*time.Minute
	p := startPod(t, s, nil)
	s.orders <- order
	wait(t, func() bool { return strings.Contains(p.output.String(), "── before-init ──") })
	p.interrupt()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if report := s.done(2); *report.Done.Failure != (runnerapi.Failure{Class: "Transient",
		Reason: runnerapi.ReasonInterrupted, Message: "interrupted"}) || step(t, report,
		"plan").Message != "interrupted" {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
}

// No goroutine waits for the server after the attempt has ended.
func TestEndedAttemptIsNotPolled(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.held = time.Hour
	begin := time.Now()
	run(t, s, nil, s.plan(1, s.put(file("main.tf", two))), s.plan(2, s.put(file("main.tf", two))))
	if took := time.Since(begin); took > 5*time.Minute || s.done(2).Done.Failure != nil {
		t.Errorf("took %s", took)
	}
	if n := len(slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool {
		return r != "GET /v1/interrupt"
	})); n != 2 {
		t.Errorf("asked %d times in 2 attempts", n)
	}
}

// The remaining steps are skipped, except for writing the outputs.
func TestCancelAfterTheApply(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs = true
	apply := s.planned(order, nil)
	apply.Hooks = []runnerapi.Hook{hookAt("After", "apply", "echo $$ >pid; sleep 30"),
		hookAt("After", "apply", "echo never")}
	p := startPod(t, s, nil)
	s.orders <- apply
	readPID(t, filepath.Join(p.work, "code", "pid"))
	s.cancels <- "canceled by bob"
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(2)
	if allSteps(report) != "fetch= init= apply= after-apply! after-apply-2- outputs=" ||
		*report.Done.Failure != (runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}) ||
		len(s.outputs) != 1 {
		t.Errorf("%s %+v, outputs %v", allSteps(report), report.Done.Failure, s.outputs)
	}
}

// The outputs of such an apply are written.
func TestCanceledApplyThatSucceedsIsSuccessful(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs = true
	apply := s.planned(order, nil)
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/outputs" {
			s.cancels <- "canceled by bob"
			time.Sleep(50 * time.Millisecond)
		}
		return 0
	}
	run(t, s, nil, apply)
	if report := s.done(2); steps(report) != "fetch= init= apply= outputs=" || report.Done.Failure != nil ||
		len(s.outputs) != 1 {
		t.Errorf("%s %+v", steps(report), report.Done)
	}
}
