package runner

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// The last state that the engine sent counts, even if the server was unavailable at that time.
func TestKilledEngineReportsTheLastState(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "kill -9 $PPID; sleep 1" }
}`)))
	run(t, s, nil, s.planned(order, nil))
	report := s.done(2)
	if steps(report) != "fetch= init= apply!" || *report.Steps[2].ExitCode != 137 ||
		report.Done.Failure.Message != "OpenTofu was killed (SIGKILL): most likely the container ran out of memory: "+
			"raise spec.runner.resources.limits.memory" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

// Every kind of request fails occasionally, and nothing is lost.
func TestUnavailableServerLosesNothing(t *testing.T) {
	s := newTestServer(t)
	var n atomic.Int32
	s.refuse = func(*http.Request) int {
		if n.Add(1)%3 == 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs, order.Patience = true, time.Minute // it may be the same one that fails several times
	p := run(t, s, nil, s.planned(order, nil))
	if report := s.done(2); report.Done.Failure != nil || len(s.resources()) != 2 || len(s.outputs) != 1 ||
		s.lock != nil {
		t.Errorf("%+v", report.Done.Failure)
	}
	if !strings.Contains(string(s.logs[2]), "Apply complete!") {
		t.Errorf("the log is\n%s\nthe pod's is\n%s", s.logs[2], p.output)
	}
}

func TestRunnerThatCannotReportFails(t *testing.T) {
	s := newTestServer(t)
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/steps" {
			return http.StatusForbidden
		}
		return 0
	}
	p := startPod(t, s, nil)
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	var refused *runnerapi.Error
	if err := p.wait(); !errors.As(err, &refused) || refused.Code != 403 {
		t.Errorf("%v", err)
	}
	p = startPod(t, s, nil)
	s.orders <- runnerapi.Order{Kind: "Dance"}
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), `an order "Dance"`) {
		t.Errorf("%v", err)
	}
}

// The engine floods its output and its events with invalid data.
func TestHostileOutput(t *testing.T) {
	s := newTestServer(t)
	fake := t.TempDir()
	script := `#!/bin/sh
[ "$1" = init ] && exit 0
i=0; while [ $i -lt 12 ]; do head -c 1048576 /dev/zero | tr '\0' x; echo; i=$((i+1)); done
for arg; do case $arg in -json-into=*)
  printf 'no JSON \000\n{"type":"diagnostic","diagnostic":{"severity":"error","summary":"nul \\u0000 esc \\u001b[31m bad \377\376","detail":"' >"${arg#-json-into=}"
  head -c 100000 /dev/zero | tr '\0' y >>"${arg#-json-into=}"
  echo '"}}' >>"${arg#-json-into=}";;
esac; done
printf 'nul \000 bad \377\376\n'; exit 1
`
	executable(t, filepath.Join(fake, "tofu"), script)
	p := startPod(t, s, nil, "PATH="+fake+":/usr/bin:/bin")
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	message := s.done(1).Done.Failure.Message
	if len(message) != report.LongestMessage || !strings.HasPrefix(message, "nul esc [31m bad \ufffd\ufffd: yyy") ||
		!strings.HasSuffix(message, "y…") {
		t.Errorf("%d bytes: %q", len(message), message)
	}
	if log := s.logs[1]; len(log) < 12<<20 || !strings.HasSuffix(string(log), "nul \x00 bad \xff\xfe\n") {
		t.Errorf("%d bytes", len(log))
	}
}

// The disk is full once the plan is written: the engine takes no notice that its events are not.
func TestPlanWithoutAllItsEventsFails(t *testing.T) {
	s := newTestServer(t)
	fake := t.TempDir()
	executable(t, filepath.Join(fake, "tofu"), `#!/bin/sh
`+filepath.Join(bin(t), "tofu")+` "$@"
code=$?
for arg; do case $arg in -json-into=*) [ "$1" != plan ] || truncate -s 600 "${arg#*=}";; esac; done
exit $code
`)
	p := startPod(t, s, nil, "PATH="+fake+":/usr/bin:/bin")
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(1)
	const want = "OpenTofu planned, and its events do not have the whole plan: the disk of the pod may be full"
	if failure := report.Done.Failure; failure == nil || failure.Class != "Transient" || failure.Message != want ||
		len(s.plans) != 0 {
		t.Errorf("%s %+v %+v", steps(report), failure, report.Done.Plan)
	}
}

// The failure is one that no event explains.
func TestEngineFailureWithoutEvents(t *testing.T) {
	for script, want := range map[string]string{
		"exit 7":                     "OpenTofu ended with exit code 7 and printed nothing",
		"echo one; echo two; exit 7": "OpenTofu ended with exit code 7: one; two",
		"printf 'x\nError: no such thing\n\nbecause\n'; exit 1": "no such thing: because",
		"echo 'flag provided but not defined: -json-into'; echo help; exit 1": "this image's " +
			"OpenTofu is too old for Cairn, which needs 1.12 or later",
		`printf 'Error: Failed to parse\n\nflag provided but not defined: -json-into\n'; exit 1`: "this image's " +
			"OpenTofu is too old for Cairn, which needs 1.12 or later",
		"kill -15 $$": "OpenTofu was ended by a signal: terminated",
	} {
		s := newTestServer(t)
		fake := t.TempDir()
		executable(t, filepath.Join(fake, "tofu"), "#!/bin/sh\n"+script)
		p := startPod(t, s, nil, "PATH="+fake)
		s.orders <- s.plan(1, s.put(file("main.tf", two)))
		close(s.orders)
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		if failure := *s.done(1).Done.Failure; failure != (runnerapi.Failure{Class: "Transient", Message: want}) {
			t.Errorf("%s: %+v", script, failure)
		}
	}
	s := newTestServer(t)
	p := startPod(t, s, nil, "PATH=/nowhere")
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.done(1).Done.Failure.Message; got != "there is no program tofu in this image; the server answered "+
		"422: there is no OpenTofu" {
		t.Errorf("%q", got)
	}
}
