package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reportProcess reports the environment and the limits of an evaluating process, before and after it is confined.
func reportProcess() {
	folder, _ := os.Getwd()
	home, _ := net.Listen("tcp", "127.0.0.1:0") // an address to connect to
	score, _ := os.Open("/proc/self/oom_score_adj")
	confined := confine(1 << 30)
	oomScoreAdj, _ := io.ReadAll(score)
	var inherited []int
	for fd := range 1000 {
		if flags, _, err := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); err == 0 &&
			flags&syscall.FD_CLOEXEC == 0 {
			inherited = append(inherited, fd)
		}
	}
	_, opened := os.Open("/proc/self/environ")
	_, dialed := net.Dial(home.Addr().Network(), home.Addr().String())
	var data syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_DATA, &data)
	text := fmt.Sprintf("environment %q, folder %s, own group %v; confined %v: memory %d, files %v, open %v, dial "+
		"%v, oom_score_adj %s",
		os.Environ(), folder, syscall.Getpgrp() == os.Getpid(), confined, data.Max, inherited,
		errors.Is(opened, syscall.EMFILE), errors.Is(dialed, syscall.EMFILE), oomScoreAdj)
	_ = json.NewEncoder(os.Stdout).Encode(utterance{Answer: &answer{Failed: text}})
}

func TestEvaluationInheritsNothingFromTheServer(t *testing.T) {
	t.Setenv("CAIRN_TEST_SECRET", "hunter2")
	left, err := syscall.Open("apart_linux_test.go", syscall.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(left)
	_, err = evaluateApart(t, apart(time.Minute, asReporting), "c/a.yaml", "validations: [{expression: \"true\"}]")
	want := `environment [], folder /, own group true; confined <nil>: memory 1073741824, files [0 1 2], open true, dial true, oom_score_adj 1000`
	if err == nil || strings.TrimSpace(err.Error()) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestTimeZonesNeedNoFile checks time zones, which are the only data that policies read from files.
func TestTimeZonesNeedNoFile(t *testing.T) {
	v, err := evaluateApart(t, apart(time.Minute, asAnswerer),
		"c/a.yaml", `validations: [{expression: "timestamp('2026-01-01T12:00:00Z').getHours('Europe/Berlin') != 13", message: it is one}]`)
	if err != nil || len(v.Findings) != 1 || v.Findings[0].Message != "it is one" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestEvaluationEndsWithTheServer checks that the kernel kills the process. The test is the subreaper of the server's
// children.
func TestEvaluationEndsWithTheServer(t *testing.T) {
	const subreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 1, 0); err != 0 {
		t.Fatal(err)
	}
	defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 0, 0) }()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), program, asServer)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for evaluates := false; !evaluates; {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatalf("the server ended: %v", err)
		}
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			// Go starts another child at start, to check features of the kernel
			for _, child := range strings.Fields(string(children)) {
				line, _ := os.ReadFile("/proc/" + child + "/cmdline")
				evaluates = evaluates || strings.Contains(string(line), asAnswerer)
			}
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, 0, nil); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("process %d: %v, %v", pid, status, err)
	}
	expectNoChildren(t)
}
