package runner

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writePID is a provisioner that writes the engine's process id into the root module and then waits.
const writePID = `provisioner "local-exec" { command = "echo $PPID >pid.new; mv pid.new pid; sleep %SLEEP%" }`

// enginePID waits for a file with a process id.
func enginePID(t testing.TB, work string) int {
	t.Helper()
	var pid int
	wait(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(work, "code", "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	return pid
}

// The server rejects the state only after the engine has ended: it is rescued nevertheless.
func TestLateStateOfAKilledEngineIsRescued(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "a" {
  `+strings.ReplaceAll(writePID, "%SLEEP%", "0")+`
}`))), nil)
	p := startPod(t, s, nil)
	s.mu.Lock()
	s.refuse = func(r *http.Request) int {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/state" {
			return 0
		}
		pid := enginePID(t, p.work)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("kill the engine: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
		return http.StatusConflict
	}
	s.mu.Unlock()
	s.orders <- apply
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(2)
	if steps(report) != "fetch= init= apply! rescue=" || *report.Steps[2].ExitCode != 137 {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	s.state = s.rescued
	if got := s.resources(); len(got) != 1 {
		t.Errorf("rescued %v", got)
	}
}

// startProgram starts cairn-runner itself, and applies code that writes the engine's process id and then waits.
func startProgram(t *testing.T, s *testServer) (program *exec.Cmd, engine int) {
	t.Helper()
	apply := s.planned(s.plan(1, s.put(file("main.tf", `
resource "terraform_data" "a" {
  `+strings.ReplaceAll(writePID, "%SLEEP%", "60")+`
}`))), nil)
	program = runnerProgram(t, s)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	s.orders <- apply
	return program, enginePID(t, filepath.Dir(program.Path))
}

// runnerProgram is cairn-runner itself; it works in the folder that it is in.
func runnerProgram(t *testing.T, s *testServer) *exec.Cmd {
	t.Helper()
	work := t.TempDir()
	token, path := filepath.Join(work, "token"), filepath.Join(work, "cairn-runner")
	if err := os.WriteFile(token, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", path, "cairn.dev/cairn/cmd/cairn-runner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := exec.Command(path, "run", "--server="+s.server.URL, "--token="+token, "--work="+work, "--inputs="+work)
	program.Env = []string{"PATH=" + bin(t) + ":/usr/bin:/bin", "CAIRN_SERVER_CA_PEM=" + string(s.ca())}
	return program
}

// An engine without its runner cannot write the state.
func TestKilledRunnerKillsTheEngine(t *testing.T) {
	s := newTestServer(t)
	program, engine := startProgram(t, s)
	if group, err := syscall.Getpgid(engine); err != nil || group != engine {
		t.Errorf("the engine %d is in the process group %d: %v", engine, group, err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	wait(t, func() bool { return !alive(engine) })
	if s.lock == nil || s.state != nil {
		t.Errorf("lock %s, state %s", s.lock, s.state)
	}
}

// Several signals interrupt the engine once. The state is saved and reported long before its resources would be
// created.
func TestTerminatedRunnerInterruptsTheEngineOnce(t *testing.T) {
	s := newTestServer(t)
	program, engine := startProgram(t, s)
	begin := time.Now()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGTERM} {
		if err := program.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if err := program.Wait(); err != nil || time.Since(begin) > 50*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	if failure := s.done(2).Done.Failure; failure == nil || failure.Message != "interrupted" || alive(engine) {
		t.Errorf("%+v", failure)
	}
	if log := string(s.logs[2]); len(s.resources()) != 1 || s.lock != nil || strings.Contains(log, "Two interrupts") {
		t.Errorf("%v, lock %s\n%s", s.resources(), s.lock, log)
	}
}

// The container runtime may be gone: the runner continues, because the server receives the log too.
func TestRunnerContinuesWhenOutputIsNotRead(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	program := runnerProgram(t, s)
	program.Stdout, program.Stderr = write, write
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = read.Close(), write.Close()
	s.orders <- apply
	close(s.orders)
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	if report := s.done(2); report.Done.Failure != nil || len(s.resources()) != 2 ||
		!strings.Contains(string(s.logs[2]), "Apply complete!") {
		t.Errorf("%+v\n%s", report.Done.Failure, s.logs[2])
	}
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(data), ") Z ")
}
