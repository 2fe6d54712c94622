package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"cairn.dev/cairn/dev/process"
	"cairn.dev/cairn/test/leaks"
)

// The test binary is its own helper: with this variable set it starts a child through a Group and waits to be killed.
const helperScript = "PROCESS_TEST_HELPER"

func TestMain(m *testing.M) {
	if script := os.Getenv(helperScript); script != "" {
		helper(script)
	}
	leaks.Main(m)
}

func helper(script string) {
	group, err := process.NewGroup()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdout = os.Stdout
	if _, err := group.Start(cmd); err != nil {
		panic(err)
	}
	fmt.Println("started")
	select {}
}

func TestExit(t *testing.T) {
	group := newGroup(t)
	for _, tt := range []struct {
		name   string
		script string
		want   process.Exit
	}{
		{"a child that ends well", "exit 0", process.Exit{}},
		{"a child that fails", "exit 7", process.Exit{Code: 7}},
		{"a child that a signal ends counts 128 more", "kill -TERM $$",
			process.Exit{Code: 143, Signal: syscall.SIGTERM}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := group.Start(exec.Command("/bin/sh", "-c", tt.script))
			if err != nil {
				t.Fatal(err)
			}
			got := p.Exit()
			if got.At.Before(p.Started) {
				t.Errorf("ended at %s, before it started at %s", got.At, p.Started)
			}
			got.At = time.Time{}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestStartOfAMissingProgram(t *testing.T) {
	if _, err := newGroup(t).Start(exec.Command("/does/not/exist")); err == nil {
		t.Error("want an error")
	}
}

// everyone prints a line once the shell, a child in the background and one in a process group of its own are there.
// Each that is alive holds stdout open.
const children = `sleep 600 & set -m; sleep 600 & echo ready; wait`

func TestSessionIsKilledWithTheChild(t *testing.T) {
	group := newGroup(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", children)
	cmd.Stdout = w
	p, err := group.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewReader(r)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if got := p.Exit().Code; got != 137 {
		t.Errorf("exit code %d, want 137", got)
	}
	// Done was closed, so no process may hold the pipe any more: its end is reached without waiting.
	raw, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var readErr error
	if err := raw.Read(func(fd uintptr) bool {
		for n = 1; n > 0; {
			n, readErr = syscall.Read(int(fd), make([]byte, 512))
		}
		return true
	}); err != nil || n != 0 || readErr != nil {
		t.Errorf("a process outlived the child: %v, %v", err, readErr)
	}
}

func TestStopKillsAfterTheGracePeriod(t *testing.T) {
	group := newGroup(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", `trap '' TERM; echo ready; while :; do sleep 600; done`)
	cmd.Stdout = w
	p, err := group.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if !p.Stop(ctx) {
		t.Error("it ended by itself, though it ignores SIGTERM")
	}
}

func TestChildrenAreKilledWithTheParent(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"children and their children", children},
		{"one that ignores SIGHUP, SIGINT and SIGTERM", `trap '' HUP INT TERM; ` + children},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), fmt.Sprintf("%s=%s", helperScript, tt.script))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			parent.Stdout = w
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			lines := bufio.NewReader(r)
			for range 2 { // the child is there, and the parent has done with starting it
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Errorf("a process outlived the parent: %v", err)
			}
		})
	}
}

func newGroup(t *testing.T) *process.Group {
	t.Helper()
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return group
}
