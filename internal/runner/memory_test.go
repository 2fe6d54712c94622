package runner

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
)

// write puts files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The runner reports that the kernel killed the engine, or a process that the engine started, and the runner survived.
func TestOutOfMemoryIsReported(t *testing.T) {
	const starve = `printf 'oom 1\noom_kill 1\n' >$CGROUP/memory.events; `
	for name, tt := range map[string]struct {
		files   map[string]string
		command string
		code    int32
		message string
	}{
		"the engine is killed for it": {
			map[string]string{"memory.events": "oom_kill 0\n", "memory.max": "268435456\n"}, starve +
				"kill -9 $PPID; sleep 1", 137,
			"OpenTofu was killed (SIGKILL): the container ran out of memory (its limit is 256Mi): raise " +
				"spec.runner.resources.limits.memory",
		},
		"without a limit": {
			map[string]string{"memory.events": "oom_kill 0\n", "memory.max": "max\n"}, starve +
				"kill -9 $PPID; sleep 1", 137,
			"OpenTofu was killed (SIGKILL): the container ran out of memory: raise spec.runner.resources.limits.memory",
		},
		"what the engine started is": {
			map[string]string{"memory.events": "oom_kill 0\n", "memory.max": "268435456\n"}, starve + "kill -9 $$", 1,
			"; a process was killed: the container ran out of memory (its limit is 256Mi): raise " +
				"spec.runner.resources.limits.memory",
		},
		"the engine is killed for another reason": {
			map[string]string{"memory.events": "oom_kill 4\n"}, "kill -9 $PPID; sleep 1", 137,
			"OpenTofu was killed (SIGKILL), and not for the container's memory",
		},
		"the engine is killed for an unknown reason": {
			map[string]string{"memory.max": "268435456\n"}, "kill -9 $PPID; sleep 1", 137,
			"OpenTofu was killed (SIGKILL): most likely the container ran out of memory (its limit is 256Mi): raise " +
				"spec.runner.resources.limits.memory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			write(t, s.cgroup, tt.files)
			command := strings.ReplaceAll(tt.command, "$CGROUP", s.cgroup)
			command = strings.ReplaceAll(command, `\n`, `\\n`)
			run(t, s, nil, s.planned(s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "`+command+`" }
}`))), nil))
			report := s.done(2)
			if steps(report) != "fetch= init= apply!" || *report.Steps[2].ExitCode != tt.code ||
				report.Done.Failure.Class != "Transient" || !strings.HasSuffix(report.Done.Failure.Message,
				tt.message) {
				t.Errorf("%s %d %+v", steps(report), *report.Steps[2].ExitCode, report.Done.Failure)
			}
		})
	}
}

// The failure does not blame the hook.
func TestOutOfMemoryInAHookIsReported(t *testing.T) {
	s := newTestServer(t)
	write(t, s.cgroup, map[string]string{"memory.events": "oom_kill 0\n"})
	order := s.plan(1, s.put(file("main.tf", "")))
	order.Hooks = []runnerapi.Hook{hookAt("Before", "init", "echo oom_kill 1 >"+s.cgroup+"/memory.events; exit 1")}
	run(t, s, nil, order)
	want := runnerapi.Failure{Class: "Transient", Message: "hook before-init ended with exit code 1 and printed " +
		"nothing; a process was killed: the container ran out of memory: raise spec.runner.resources.limits.memory"}
	if got := *s.done(1).Done.Failure; got != want {
		t.Errorf("got %+v", got)
	}
}

// A pod may be deleted by force while its process remains: the engine is interrupted because another one may begin, and
// its state is sent.
func TestAttemptThatIsNotCurrentInterruptsTheEngine(t *testing.T) {
	for name, code := range map[string]int{"the pod's token is worth nothing": http.StatusUnauthorized,
		"the Run names another": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.held = 100 * time.Millisecond
			apply := s.planned(s.plan(1, s.put(file("main.tf", twenty()))), nil)
			p := startPod(t, s, nil)
			s.orders <- apply
			close(s.orders)
			wait(t, func() bool { return strings.Contains(p.output.String(), "(local-exec): slow1") })
			s.mu.Lock()
			s.refuse = func(r *http.Request) int {
				if r.URL.Path == "/v1/rescue" || r.URL.Path == "/v1/steps" {
					return 0
				}
				return code
			}
			s.mu.Unlock()
			if err := p.wait(); runnerapi.Code(err) != code { // nor is there another order
				t.Fatal(err)
			}
			report := s.done(2)
			if report.Done.Failure.Class != "Transient" ||
				report.Done.Failure.Message != interrupt.ErrDisowned.Error() {
				t.Errorf("%s %+v", steps(report), report.Done.Failure)
			}
			if strings.Contains(p.output.String(), "(local-exec): slow2") || len(s.rescued) == 0 {
				t.Errorf("it went on, or nothing was handed in:\n%s", p.output)
			}
		})
	}
}

// A server whose cache does not have the attempt yet rejects a request for a moment, without consequences.
func TestUnknownAttemptIsRetried(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", "")))
	s.held = 0
	var asked atomic.Int32
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/interrupt" && asked.Add(1)%2 == 0 {
			return http.StatusForbidden
		}
		return 0
	}
	order.Hooks = []runnerapi.Hook{hookAt("Before", "init", "sleep 3")}
	run(t, s, nil, order)
	if failure := s.done(1).Done.Failure; failure != nil || asked.Load() < 4 {
		t.Errorf("asked %d times, %+v", asked.Load(), failure)
	}
}
