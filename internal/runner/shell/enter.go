package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/workspace"
)

// ErrNoSession is why a user cannot enter.
var ErrNoSession = errors.New("no shell is open in this pod: `cairn shell STACK` opens one")

// How long those who are evicted have: after an interrupt, once no engine runs any more; and then after a hangup.
const (
	interruptGrace = 2 * time.Second
	hangupGrace    = 10 * time.Second
)

// Enter runs a command in the session that a runner holds open in a workspace, with the standard streams of this
// process, and returns its exit code. Without a command it runs $SHELL, or else /bin/sh.
//
// The terminal's keys are for the command. When this process is terminated, or its terminal is gone, it ends all that
// was started in it: an engine is interrupted and waited for, as everywhere.
//
// The pipe stays open until this process ends: the runner takes its end for the end of the session, and the end of the
// container would kill a process that has not returned its exit code yet.
func Enter(path string, command []string) (int, error) {
	work := workspace.Dir(path)
	data, err := os.ReadFile(work.ShellConfig())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNoSession
	}
	if err != nil {
		return 0, err
	}
	var config Config
	if err := json.Unmarshal(data, &config); err != nil {
		return 0, fmt.Errorf("%s: %w", work.ShellConfig(), err)
	}
	pipe, err := syscall.Open(work.ShellPipe(), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENXIO) {
		return 0, ErrNoSession
	}
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", work.ShellPipe(), err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if _, err := syscall.Write(pipe, fmt.Appendf(nil, "in %d\n", os.Getpid())); err != nil {
		return 0, err
	}
	code, err := run(config, command, signals)
	if err != nil {
		code = 127
	}
	_, _ = syscall.Write(pipe, fmt.Appendf(nil, "out %d %d\n", os.Getpid(), code))
	return code, err
}

func run(c Config, command []string, signals <-chan os.Signal) (int, error) {
	if len(command) == 0 {
		command = []string{cmp.Or(os.Getenv("SHELL"), process.Shell)}
	}
	env := c.Env
	if term := os.Getenv("TERM"); term != "" {
		env = append(env, "TERM="+term)
	}
	path := command[0]
	if !strings.Contains(path, "/") {
		if path = process.Find(command[0], process.Variable(env, "PATH")); path == "" {
			return 0, fmt.Errorf("there is no program %s in this image", command[0])
		}
	}
	cmd := &exec.Cmd{
		Path: path, Args: command, Dir: c.Dir, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if err := process.AdoptOrphans(); err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended, evicted, interrupted := make(chan struct{}), make(chan struct{}), false
	go func() {
		defer close(evicted)
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					interrupted = true
					endAll(ended, interruptGrace, hangupGrace)
					return
				}
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-evicted
	waitForEngines(interrupted)
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return 0, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// endAll ends what was started in a shell: it interrupts all of it, once, as the key of a terminal does; waits for
// engines however long they take; hangs up; and kills what is left. At a second interrupt an engine would drop
// everything.
func endAll(ended <-chan struct{}, interruptGrace, hangupGrace time.Duration) {
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
	if wait(func() bool { return !process.HasEngine(process.Descendants()) && time.Since(began) > interruptGrace }) {
		return
	}
	signalAll(syscall.SIGHUP)
	signalAll(syscall.SIGCONT)
	began = time.Now()
	if wait(func() bool { return time.Since(began) > hangupGrace }) {
		return
	}
	signalAll(syscall.SIGKILL)
}

// waitForEngines interrupts the engines that the command has left, unless they were interrupted before, and waits for
// them however long they take: the end of the session is that of the container.
func waitForEngines(interrupted bool) {
	if !process.HasEngine(process.Descendants()) {
		return
	}
	fmt.Fprintln(os.Stderr, "an engine is at work still: it is interrupted and waited for")
	if !interrupted {
		signalAll(syscall.SIGINT)
	}
	for process.HasEngine(process.Descendants()) {
		time.Sleep(50 * time.Millisecond)
	}
}

func signalAll(s syscall.Signal) {
	for _, p := range process.Descendants() {
		_ = syscall.Kill(p.PID, s)
	}
}
