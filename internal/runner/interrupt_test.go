package runner

import (
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// slow creates a, and then is busy with b until it is interrupted.
const slow = `
resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "echo busy; sleep 300" }
}
`

// The state is saved, the lock released and the attempt reported long before its resources would be created.
func TestInterruptWhileApplying(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", slow))), nil)
	p := startPod(t, s, nil)
	s.orders <- apply
	wait(t, func() bool { return strings.Contains(p.output.String(), "busy") })
	begin := time.Now()
	p.interrupt()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %s", took)
	}
	report := s.done(2)
	if steps(report) != "fetch= init= apply!" ||
		*report.Done.Failure != (runnerapi.Failure{Class: "Transient", Reason: runnerapi.ReasonInterrupted,
			Message: "interrupted"}) {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	if got := s.resources(); len(got) != 2 || s.lock != nil || s.rescued != nil {
		t.Errorf("%v, lock %s", got, s.lock)
	}
	if log := string(s.logs[2]); !strings.Contains(log, "Interrupt received") ||
		strings.Contains(log, "Two interrupts") {
		t.Errorf("%s", log)
	}
}

func TestAttemptEndsAtItsTimeout(t *testing.T) {
	for timeout := 3 * time.Second; ; timeout *= 2 {
		s := newTestServer(t)
		apply := s.planned(s.plan(1, s.put(file("main.tf", slow))), nil)
		apply.Timeout = timeout
		p := run(t, s, nil, apply)
		if timeout < time.Minute && !strings.Contains(p.output.String(), "busy") {
			continue // the engine has to be at work by then, on a busy machine too
		}
		report := s.done(2)
		if steps(report) != "fetch= init= apply!" ||
			*report.Done.Failure != (runnerapi.Failure{Class: "Transient", Message: "timed out after " +
				timeout.String()}) {
			t.Errorf("%s %+v", steps(report), report.Done.Failure)
		}
		if got := s.resources(); len(got) != 2 || s.lock != nil {
			t.Errorf("%v, lock %s", got, s.lock)
		}
		return
	}
}

func TestInterruptWhileIdle(t *testing.T) {
	s := newTestServer(t)
	p := startPod(t, s, nil)
	wait(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.requests) > 0 })
	p.interrupt()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
}
