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

	"cairn.dev/cairn/internal/store"
)

// twenty resources, of which seven are there at once; each of the others takes a second, one after the other.
func twenty() string {
	var code strings.Builder
	code.WriteString("resource \"terraform_data\" \"quick\" { count = 7 }\n")
	needs := "terraform_data.quick"
	for i := range 13 {
		fmt.Fprintf(&code, "resource \"terraform_data\" \"slow%d\" {\n  depends_on = [%s]\n  provisioner \"local-exec\" { command = \"echo slow%d; sleep 1\" }\n}\n", i, needs, i)
		needs = fmt.Sprintf("terraform_data.slow%d", i)
	}
	return code.String()
}

// made counts the resources that are whole in the state.
func (s *testStore) made() (n int32) {
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

// TestCancelAnApplyOfSlowResources: the engine ends what it has in flight, the state is saved, the lock given back, and
// what is half done is told.
func TestCancelAnApplyOfSlowResources(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"OpenTofu", "Terraform"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(t)
			order := s.plan(1, s.put(file("main.tf", twenty())))
			order.Engine, order.Outputs = engine, true
			apply := s.planned(order, nil)
			apply.Hooks = []store.Hook{hookAt("After", "apply", "echo never")}
			p := startPod(t, s, nil)
			s.orders <- apply
			wait(t, func() bool { return strings.Contains(p.output.String(), "(local-exec): slow1") })
			begin := time.Now()
			s.cancels <- "canceled by bob"
			close(s.orders)
			report := waitDone(t, s, 2)
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("took %s", took)
			}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			if allSteps(report) != "fetch= init= apply! after-apply- outputs-" || *report.Done.Failure != (store.Failure{Class: "Canceled", Message: "canceled by bob"}) {
				t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
			}
			if step(t, report, "outputs").Message != "canceled by bob" {
				t.Errorf("%+v", report.Steps)
			}
			if changed := report.Done.Changed; changed == nil || *changed < 8 || *changed > 9 || *changed != s.made() {
				t.Errorf("%v changed, %d made", changed, s.made())
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

// TestCancelWhileTheStoreIsAway is heard of as soon as it is back, and not before.
func TestCancelWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
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
	order.Hooks = []store.Hook{hookAt("Before", "init", "sleep 30")}
	run(t, s, nil, order)
	report := s.done(1)
	if allSteps(report) != "fetch= before-init! init- plan-" || *report.Done.Failure != (store.Failure{Class: "Canceled", Message: "canceled"}) || asked.Load() != 4 {
		t.Errorf("%s %+v, asked %d times", allSteps(report), report.Done.Failure, asked.Load())
	}
}

// TestCancelInAPauseBetweenTries of something else that the store is asked for.
func TestCancelInAPauseBetweenTries(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
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
	if took := time.Since(begin); took > 5*time.Second || allSteps(report) != "fetch! init- plan-" || *report.Done.Failure != (store.Failure{Class: "Canceled", Message: "canceled by bob"}) {
		t.Errorf("%s %+v after %s", allSteps(report), report.Done.Failure, took)
	}
}

// TestCancelInAHook ends it, whatever it does about that, and what it started.
func TestCancelInAHook(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   int32
	}{
		"that ends":                        {"trap 'echo cleaned up; exit 4' INT\necho $$ >pid\nwhile :; do sleep 0.05; done", 4},
		"that does nothing about it":       {"sh -c 'echo $PPID >pid; exec sleep 30'; echo never", 130},
		"that ignores the first signal":    {"trap '' INT\ntrap 'exit 5' TERM\necho $$ >pid\nwhile :; do sleep 0.05; done", 5},
		"that ignores all that it can":     {"trap '' INT TERM\necho $$ >pid\nwhile :; do sleep 0.05; done", 137},
		"that leaves somebody who ignores": {"(trap '' INT TERM; echo $$ >other; exec sleep 30) &\ntrap 'exit 6' INT\necho $! >pid\nwhile :; do sleep 0.05; done", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStore(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Hooks = []store.Hook{{Step: "init", When: "Before", Script: test.script, Continue: true}}
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
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("took %s", took)
			}
			if allSteps(report) != "fetch= before-init! init- plan-" || *report.Done.Failure != (store.Failure{Class: "Canceled", Message: "canceled by bob"}) {
				t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
			}
			if got := step(t, report, "before-init").ExitCode; got == nil || *got != test.code {
				t.Errorf("exit code %v", *got)
			}
			wait(t, func() bool { return !alive(pid) })
			if log := string(s.logs[1]); strings.Contains(log, "never") || strings.Contains(log, "goes on") || test.code == 4 && !strings.Contains(log, "cleaned up") {
				t.Errorf("%s", log)
			}
		})
	}
}

// TestAHookHasNoMoreTimeThanItsAttempt, nor than its pod.
func TestAHookHasNoMoreTimeThanItsAttempt(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Timeout = 300 * time.Millisecond
	order.Hooks = []store.Hook{hookAt("Before", "init", "sleep 30")}
	run(t, s, nil, order)
	if report := s.done(1); allSteps(report) != "fetch= before-init! init- plan-" || *report.Done.Failure != (store.Failure{Class: "Transient", Message: "timed out after 300ms"}) {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
	order.Attempt, order.Timeout = 2, time.Minute
	p := startPod(t, s, nil)
	s.orders <- order
	wait(t, func() bool { return strings.Contains(p.output.String(), "── before-init ──") })
	p.interrupt()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if report := s.done(2); *report.Done.Failure != (store.Failure{Class: "Transient", Message: "interrupted"}) || step(t, report, "plan").Message != "interrupted" {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
}

// TestAnAttemptThatEndsIsNoLongerAskedAbout: nobody is left who waits for the store.
func TestAnAttemptThatEndsIsNoLongerAskedAbout(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	s.held = time.Hour
	begin := time.Now()
	run(t, s, nil, s.plan(1, s.put(file("main.tf", two))), s.plan(2, s.put(file("main.tf", two))))
	if took := time.Since(begin); took > 5*time.Second || s.done(2).Done.Failure != nil {
		t.Errorf("took %s", took)
	}
	if n := len(slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool { return r != "GET /v1/interrupt" })); n != 2 {
		t.Errorf("asked %d times in 2 attempts", n)
	}
}

// TestCancelAfterTheApply leaves what comes after it out, but for the outputs of what was applied.
func TestCancelAfterTheApply(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs = true
	apply := s.planned(order, nil)
	apply.Hooks = []store.Hook{hookAt("After", "apply", "echo $$ >pid; sleep 30"), hookAt("After", "apply", "echo never")}
	p := startPod(t, s, nil)
	s.orders <- apply
	readPID(t, filepath.Join(p.work, "code", "pid"))
	s.cancels <- "canceled by bob"
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(2)
	if allSteps(report) != "fetch= init= apply= after-apply! after-apply-2- outputs=" || *report.Done.Failure != (store.Failure{Class: "Canceled", Message: "canceled by bob"}) || len(s.outputs) != 1 {
		t.Errorf("%s %+v, outputs %v", allSteps(report), report.Done.Failure, s.outputs)
	}
}

// TestAnApplyThatSucceedsAllTheSame is no canceled one: its outputs are written.
func TestAnApplyThatSucceedsAllTheSame(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
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
	if report := s.done(2); steps(report) != "fetch= init= apply= outputs=" || report.Done.Failure != nil || len(s.outputs) != 1 {
		t.Errorf("%s %+v", steps(report), report.Done)
	}
}
