package runner

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runner/shell"
	"cairn.dev/cairn/internal/runner/stateproxy"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// The tests below run it as the process of a user in the shell.
func TestEnterHelper(t *testing.T) {
	work := os.Getenv("TEST_ENTER")
	if work == "" {
		t.Skip("a process of the tests below, which set TEST_ENTER")
	}
	_, args, _ := strings.Cut(strings.Join(os.Args, "\x00"), "--\x00")
	code, err := shell.Enter(work, strings.Split(args, "\x00"))
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	if os.Getenv("TEST_ENTER_LINGERS") != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(code)
}

// enter comes in with a command.
func enter(work string, command ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestEnterHelper$", "--"}, command...)...)
	cmd.Env = append(os.Environ(), "TEST_ENTER="+work)
	return cmd
}

// shellOf opens a shell in a pod of its own, over a state with two resources.
func shellOf(t *testing.T, s *testServer, more ...func(*runnerapi.Order)) *pod {
	t.Helper()
	order := s.plan(1, s.put(file("main.tf", two)))
	run(t, s, nil, s.planned(order, nil))
	order.Kind, order.Attempt, order.Operation = runnerapi.OrderShell, 3, "Shell"
	for _, m := range more {
		m(&order)
	}
	p := startPod(t, s, nil)
	s.orders <- order
	wait(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := s.reports[3]
		return len(all) > 0 && strings.HasSuffix(allSteps(all[len(all)-1]), "shell?")
	})
	return p
}

// The engine in the shell can reach the state. The shell ends with the process of its user, and writes nothing to the
// log.
func TestShell(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	p := shellOf(t, s)
	versions := s.versions
	cmd := enter(p.work, "sh", "-c", "tofu state list && tofu state mv terraform_data.a terraform_data.c && echo "+
		"$CAIRN_OPERATION not-in-the-log; exit 7")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
		t.Fatalf("%v\n%s", err, &out)
	}
	done := waitDone(t, s, 3)
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if got := steps(done); got != "fetch= init= shell=" || done.Done.Failure != nil || done.Done.Plan != nil ||
		!strings.HasPrefix(step(t, done, "shell").Message, "left with exit code 7 after ") {
		t.Errorf("%s %+v %+v", got, done.Done, step(t, done, "shell"))
	}
	if !strings.Contains(out.String(), "Shell not-in-the-log") || s.versions != versions+1 || s.lock != nil {
		t.Errorf("%d versions, were %d; lock %s\n%s", s.versions, versions, s.lock, &out)
	}
	if strings.Contains(string(s.logs[3])+p.output.String(), "not-in-the-log") {
		t.Error("it is in the log")
	}
	if out, err := enter(p.work, "true").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "no shell is open") {
		t.Errorf("after its end: %v\n%s", err, out)
	}
}

// The shell does not end at the message of its process: the end of the container would kill the process before its exit
// code is sent.
func TestShellEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	p := shellOf(t, s)
	cmd := enter(p.work, "sh", "-c", "echo in; exit 7")
	cmd.Env = append(cmd.Env, "TEST_ENTER_LINGERS=yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := s.reports[3]
		return !strings.HasSuffix(allSteps(all[len(all)-1]), "shell?")
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ended() {
			t.Fatal("the shell has ended, and who was in it not")
		}
	}
	in.Close()
	cmd.Wait()
	if done := waitDone(t, s, 3); cmd.ProcessState.ExitCode() != 7 || !strings.HasPrefix(step(t, done, "shell").Message,
		"left with exit code 7 after ") {
		t.Errorf("%v %+v", cmd.ProcessState, done)
	}
	close(s.orders)
	p.wait()
}

// A cancellation, the timeout or the end of the pod ends the shell. A process that ignores an interrupt is killed.
func TestShellIsEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end     func(*testServer, *pod)
		timeout time.Duration
		class   string
		message string
	}{
		"canceled": {end: func(s *testServer, _ *pod) { s.cancels <- "canceled by bob" }, class: "Canceled",
			message: "canceled by bob"},
		"timed out":   {end: func(*testServer, *pod) {}, timeout: 20 * time.Second, message: "timed out after 20s"},
		"interrupted": {end: func(_ *testServer, p *pod) { p.interrupt() }, class: "Transient", message: "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			p := shellOf(t, s, func(o *runnerapi.Order) { o.Timeout = tt.timeout })
			cmd := enter(p.work, "sh", "-c", "trap '' INT; echo in; sleep 600 & wait")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			tt.end(s, p)
			done := waitDone(t, s, 3)
			cmd.Wait()
			if f := done.Done.Failure; (f == nil) != (tt.class == "") ||
				f != nil && (f.Class != tt.class || f.Message != tt.message) {
				t.Errorf("%+v", f)
			}
			if got := step(t, done, "shell"); got.Message != tt.message {
				t.Errorf("%+v", got)
			}
			close(s.orders)
			p.wait()
		})
	}
}

// The engine is interrupted once, and the runner waits for it longer than for other processes.
func TestEngineInAShellSavesItsState(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "trap '' INT HUP; echo begun; sleep 5" }
}`)))
	order.Kind, order.Operation = runnerapi.OrderShell, "Shell"
	p := startPod(t, s, nil)
	s.orders <- order
	wait(t, func() bool { _, err := os.Stat(workspace.Dir(p.work).ShellConfig()); return err == nil })
	cmd := enter(p.work, "tofu", "apply", "-auto-approve", "-no-color")
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return strings.Contains(out.String(), "(local-exec): begun") })
	s.cancels <- "canceled by bob"
	done := waitDone(t, s, 1)
	cmd.Wait()
	if f := done.Done.Failure; f == nil || f.Class != "Canceled" || strings.Join(s.resources(), " ") != "slow" ||
		s.lock != nil {
		t.Errorf("%+v, resources %v, lock %s\n%s", f, s.resources(), s.lock, out)
	}
	close(s.orders)
	p.wait()
}

// The kernel reports the end of the process.
func TestShellEndsWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	p := shellOf(t, s)
	cmd := enter(p.work, "sh", "-c", "echo in; sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if done := waitDone(t, s, 3); done.Done.Failure != nil || !strings.HasPrefix(step(t, done, "shell").Message,
		"left without a word after ") {
		t.Errorf("%+v", done)
	}
	cmd.Wait()
	close(s.orders)
	p.wait()
}

// Until the state is restored, another apply would create the resources twice, and one of the two states would be
// overwritten when the shell ends.
func TestShellWithALostStateAppliesNothing(t *testing.T) {
	t.Parallel()
	const apply = "tofu apply -auto-approve -no-color"
	for name, test := range map[string]struct {
		then     string
		rescued  bool
		versions int
	}{
		"and leaves":    {then: "true", rescued: true},
		"applies again": {then: apply, rescued: true},
		"puts it back":  {then: "tofu state push errored.tfstate", versions: 1},
		"puts it back and goes on": {then: "tofu state push errored.tfstate && tofu state rm terraform_data.a",
			versions: 2},
		"imports it instead": {then: "tofu import terraform_data.c x", rescued: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			p := shellOf(t, s, func(o *runnerapi.Order) {
				o.Source = s.put(file("main.tf", two+"\nresource \"terraform_data\" \"c\" {}"))
			})
			versions, lost := s.versions, false
			s.mu.Lock()
			s.refuse = func(r *http.Request) int {
				if r.Method == http.MethodPost && r.URL.Path == "/v1/state" && !lost {
					lost = true
					return http.StatusConflict
				}
				return 0
			}
			s.mu.Unlock()
			out, _ := enter(p.work, "sh", "-c", apply+"; test -f errored.tfstate && "+test.then).CombinedOutput()
			waitDone(t, s, 3)
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			if (s.rescued != nil) != test.rescued || s.versions != versions+test.versions || s.lock != nil {
				t.Errorf("rescued %q, %d versions, were %d, lock %s\n%s", s.rescued, s.versions, versions, s.lock, out)
			}
			if refused := strings.Contains(string(out), stateproxy.StateWriteLost); refused != (test.rescued &&
				test.then != "true") {
				t.Errorf("%s", out)
			}
		})
	}
}

// The file of a lost state stays when a user has put the state back. It is not what a later command lost.
func TestShellRescuesTheStateThatItLostLast(t *testing.T) {
	t.Parallel()
	const remove = "tofu state rm terraform_data.a"
	for name, test := range map[string]struct {
		then     string
		rescued  bool
		versions int
	}{
		"and leaves":    {then: "true", rescued: true, versions: 1},
		"removes again": {then: remove, versions: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			p := shellOf(t, s, func(o *runnerapi.Order) {
				o.Source = s.put(file("main.tf", two+"\nresource \"terraform_data\" \"c\" {}"))
			})
			versions, writes := s.versions, 0
			s.mu.Lock()
			s.refuse = func(r *http.Request) int {
				if r.Method != http.MethodPost || r.URL.Path != "/v1/state" {
					return 0
				}
				if writes++; writes == 1 || writes == 3 {
					return http.StatusConflict
				}
				return 0
			}
			s.mu.Unlock()
			script := "tofu apply -auto-approve -no-color; tofu state push errored.tfstate && ! " + remove +
				" && " + test.then
			out, err := enter(p.work, "sh", "-c", script).CombinedOutput()
			waitDone(t, s, 3)
			close(s.orders)
			if err := errors.Join(err, p.wait()); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if (s.rescued != nil) != test.rescued || s.versions != versions+test.versions || s.lock != nil {
				t.Fatalf("rescued %q, %d versions, were %d, lock %s\n%s", s.rescued, s.versions, versions, s.lock, out)
			}
			if test.rescued {
				s.state = s.rescued
			}
			if got := strings.Join(s.resources(), " "); got != "b c" {
				t.Errorf("%s\n%s", got, out)
			}
		})
	}
}
