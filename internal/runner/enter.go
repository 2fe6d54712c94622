package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrNoShell is why nobody can come in.
var ErrNoShell = errors.New("no shell is open in this pod: `cairn shell STACK` opens one")

// How long those who are told to leave have: after an interrupt, once no engine is at work any more; and then after a hangup.
const (
	evictPause = 2 * time.Second
	evictGrace = 10 * time.Second
)

// Enter runs a command in the shell that a runner holds open in a workspace, with the standard streams of this process, and gives
// its exit code. Without a command it is $SHELL, or else /bin/sh.
//
// The terminal's keys are the command's business. When this process is told to end, or its terminal is gone, it ends all that was
// started in it: what holds a state is interrupted and waited for, as it is everywhere.
//
// The door stays open until this process ends: the runner takes its end for the end of the shell, and the end of the container
// would kill a process that has not given its exit code yet.
func Enter(work string, command []string) (int, error) {
	w := workspace{work}
	data, err := os.ReadFile(w.shell())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNoShell
	}
	if err != nil {
		return 0, err
	}
	var given shellGiven
	if err := json.Unmarshal(data, &given); err != nil {
		return 0, fmt.Errorf("%s: %w", w.shell(), err)
	}
	door, err := syscall.Open(w.door(), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENXIO) {
		return 0, ErrNoShell
	}
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", w.door(), err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if _, err := syscall.Write(door, fmt.Appendf(nil, "in %d\n", os.Getpid())); err != nil {
		return 0, err
	}
	code, err := inShell(given, command, signals)
	if err != nil {
		code = 127
	}
	_, _ = syscall.Write(door, fmt.Appendf(nil, "out %d %d\n", os.Getpid(), code))
	return code, err
}

func inShell(given shellGiven, command []string, signals <-chan os.Signal) (int, error) {
	if len(command) == 0 {
		command = []string{cmp.Or(os.Getenv("SHELL"), shell)}
	}
	env := given.Env
	if term := os.Getenv("TERM"); term != "" {
		env = append(env, "TERM="+term)
	}
	path, err := findProgram(command[0], variable(env, "PATH"))
	if err != nil {
		return 0, err
	}
	cmd := &exec.Cmd{Path: path, Args: command, Dir: given.Dir, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	evicted := make(chan struct{})
	go func() {
		defer close(evicted)
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					evict(ended, evictPause, evictGrace)
					return
				}
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	<-evicted
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 0, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// findProgram looks for a program on the PATH of the shell, which is not this process's.
func findProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if found := filepath.Join(dir, name); filepath.IsAbs(dir) {
			if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 { //nolint:gosec // who is in may run what there is
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %s in this image", name)
}

// engines are the programs that hold a state while they are at work.
var engines = []string{"tofu", "terraform", "terragrunt"}

// descendant is a process that this one started, or one that it did.
type descendant struct {
	pid int
	// name of its program.
	name string
	// parent is who started it or, when that has ended, who took it over.
	parent int
}

// evict ends what was started in a shell: it interrupts all of it, once, as the key of a terminal does; waits for engines however
// long they take; hangs up; and kills what is left. A second interrupt would make an engine drop everything.
func evict(ended <-chan struct{}, pause, grace time.Duration) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	wait := func(enough func() bool) bool {
		for {
			select {
			case <-ended:
				return true
			case <-tick.C:
				if enough() {
					return false
				}
			}
		}
	}
	signalAll(syscall.SIGINT)
	began := time.Now()
	if wait(func() bool { return !atWork() && time.Since(began) > pause }) {
		return
	}
	signalAll(syscall.SIGHUP)
	signalAll(syscall.SIGCONT)
	began = time.Now()
	if wait(func() bool { return time.Since(began) > grace }) {
		return
	}
	signalAll(syscall.SIGKILL)
}

// atWork says that an engine is.
func atWork() bool {
	return slices.ContainsFunc(descendants(), func(d descendant) bool { return slices.Contains(engines, d.name) })
}

func signalAll(s syscall.Signal) {
	for _, d := range descendants() {
		_ = syscall.Kill(d.pid, s)
	}
}
