// Package process runs programs in the runner's pod: engines, hooks, scripts and image builders. What they print is
// sent to the attempt's log without secrets. They are stopped so that a state stays safe, and the kernel's
// out-of-memory kills are reported.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
)

// tailLimit is how much of a program's last output is kept, for a failure that its events do not explain.
const tailLimit = 16 << 10

// outputGrace is how long a process that a program left behind may keep the program's output open.
const outputGrace = 2 * time.Second

// Launcher starts programs.
type Launcher struct {
	// Secrets hides secrets in what programs print.
	Secrets *redact.Redactor
	// Text is the attempt's log.
	Text io.Writer
	// Cgroup is the folder of the container's control group; /sys/fs/cgroup when empty.
	Cgroup string
	// Grace is how long a program has after SIGINT, and again after SIGTERM; ten seconds when zero.
	Grace time.Duration
}

// Options of one launch.
type Options struct {
	// Name of the program in messages.
	Name string
	// Stop is called when the context is over, with a channel that closes when the program has ended.
	Stop func(program *os.Process, ended <-chan struct{})
	// Answer gets what the program prints on standard output, in place of the log.
	Answer io.Writer
	// Events: the program prints events on standard output; the log gets them as text.
	Events bool
	// Observe is called for the operations of an apply, as soon as the events report them; may be nil.
	Observe engine.Observer
	// Group is set for a program that may run engines, as a script does and Terragrunt.
	Group *Group
}

// Run runs a program until it ends, even when ctx is over: then it calls Options.Stop, which has to stop the program.
func (l *Launcher) Run(ctx context.Context, cmd *exec.Cmd, o Options) (Exit, error) {
	last := &Tail{Limit: tailLimit}
	text := &merged{to: l.Secrets.Writer(io.MultiWriter(l.Text, last))}
	listener := engine.NewListener(text)
	listener.Notify(o.Observe)
	cmd.Stdout, cmd.Stderr = text, text
	switch {
	case o.Answer != nil:
		cmd.Stdout = o.Answer
	case o.Events:
		cmd.Stdout = listener
	}
	cmd.SysProcAttr = attributes()
	outputs, err := startPipes(cmd)
	if err != nil {
		return Exit{}, err
	}
	memory := l.memory()
	kills := memory.kills()
	if err := l.wait(ctx, cmd, o, outputs); err != nil {
		return Exit{}, err
	}
	events, err := listener.Close()
	if err := errors.Join(err, text.to.Close()); err != nil {
		return Exit{}, err
	}
	exit := exitOf(cmd.ProcessState)
	exit.Last, exit.Events = string(last.Bytes()), events
	exit.outOfMemory = memory.outOfMemory(kills)
	if kills < 0 {
		exit.maybeOutOfMemory = "most likely the container ran out of memory" + memory.advice()
	}
	return exit, nil
}

// wait starts a program and waits for it and its outputs. A program that fails is no error.
func (l *Launcher) wait(ctx context.Context, cmd *exec.Cmd, o Options, outputs pipes) error {
	// The kernel kills the program when the thread that started it ends, see attributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return errors.Join(explainStart(o.Name, cmd, err), outputs.close())
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	running := context.AfterFunc(ctx, func() {
		defer close(stopped)
		fmt.Fprintf(l.Text, "\n── %s: %s is interrupted and waited for ──\n", context.Cause(ctx), o.Name)
		o.Stop(cmd.Process, ended)
	})
	err := cmd.Wait()
	if o.Group != nil { // what they print must not find the output closed
		o.Group.waitForEngines(ctx, cmd.Process.Pid)
	}
	err = cmp.Or(err, outputs.close())
	close(ended)
	if !running() {
		<-stopped
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return nil
	}
	return err
}

func exitOf(state *os.ProcessState) Exit {
	exit := Exit{Code: int32(state.ExitCode())}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal()
		exit.Code = 128 + int32(status.Signal())
	}
	return exit
}
