package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"cairn.dev/cairn/internal/engine"
)

// lastOutput is how much of what a program printed last is kept, for a failure that its events say nothing about.
const lastOutput = 16 << 10

// openPipes is how long what a program left behind may keep the program's output open.
const openPipes = 2 * time.Second

// exit is how a program ended.
type exit struct {
	code int32
	// killed is the signal that ended it, if one did.
	killed syscall.Signal
	// starved says that the kernel killed it, or another process meanwhile, for the container's memory, and what to do.
	starved string
	// unfed is what to do when it may have been that.
	unfed string
	// last is the end of what it printed.
	last string
	// events are those that it printed.
	events engine.Events
}

// call is what a program is started with.
type call struct {
	// name of it for people; the engine's when it is empty.
	name string
	args []string
	// path of the program, when it is another than the engine's.
	path string
	// answer gets what it prints on standard output, in place of the log.
	answer io.Writer
	// also gets what the log gets, with all secrets in it.
	also io.Writer
	// listen says that its events are on standard output; the log gets them as text.
	listen bool
	// group is of a program that may run engines, as a script does and Terragrunt; nil for others.
	group *scriptGroup
	// heard is told of each thing that an apply has done, as soon as its events say so; nil for nobody.
	heard func(engine.Done)
}

// launch runs the engine in the root module until it ends.
//
// When ctx is over the engine is interrupted, once, and waited for, however long it takes: it finishes what it has in
// flight and saves the state. A second interrupt would make it drop everything, and a kill even more. Only the engine
// itself gets the signal: what it started, provider plugins above all, are needed to finish; they are its children in a
// process group that nobody signals.
func (a *attempt) launch(ctx context.Context, do call) (exit, error) {
	cmd := exec.Command(cmp.Or(do.path, a.engine.path), do.args...) //nolint:noctx // it is interrupted below, not killed
	cmd.Dir = a.module()
	cmd.Env = a.environment()
	do.name = cmp.Or(do.name, a.engine.Name())
	if _, ok := a.engine.Engine.(engine.Terragrunt); ok { // it starts the one that holds the state, which may outlive it
		do.group = &scriptGroup{runner: a.runner, called: do.name, text: a.text}
	}
	return a.execute(ctx, cmd, do, func(engine *os.Process, _ <-chan struct{}) { _ = engine.Signal(os.Interrupt) })
}

// execute runs a program until it ends, whatever becomes of ctx: when that is over, end is called and has to see to it.
// What the program prints goes to the log, without secrets, but for its answer when that is asked for.
func (a *attempt) execute(ctx context.Context, cmd *exec.Cmd, do call, end func(program *os.Process, ended <-chan struct{})) (exit, error) {
	last := &tail{limit: lastOutput}
	text := &locked{to: a.secrets.Writer(io.MultiWriter(a.text, last)), also: do.also}
	listener := engine.NewListener(text)
	listener.Tell(do.heard)
	cmd.Stdout, cmd.Stderr = text, text
	switch {
	case do.answer != nil:
		cmd.Stdout = do.answer
	case do.listen:
		cmd.Stdout = listener
	}
	cmd.WaitDelay = openPipes
	cmd.SysProcAttr = attributes()

	var outputs scriptOutputs
	if do.group != nil { // who may print still when the program has ended must not find its output closed
		var err error
		if outputs, err = startOutputs(cmd); err != nil {
			return exit{}, err
		}
	}

	memory := a.memory()
	kills := memory.kills()

	// The kernel ends the program when the thread that started it ends, see attributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return exit{}, errors.Join(err, outputs.end())
	}
	over, told := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		fmt.Fprintf(a.text, "\n── %s: %s is interrupted and waited for ──\n", a.clean(context.Cause(ctx).Error()), do.name)
		end(cmd.Process, over)
	})
	err := cmd.Wait()
	if do.group != nil {
		do.group.settle(ctx, cmd.Process.Pid)
		err = cmp.Or(err, outputs.end())
	}
	close(over)
	if !stop() {
		<-told
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		return exit{}, err
	}
	events, err := listener.Close()
	if err := errors.Join(err, text.to.Close()); err != nil {
		return exit{}, err
	}
	ended := exit{code: int32(cmd.ProcessState.ExitCode()), last: last.kept.String(), events: events, starved: memory.outOfMemory(kills)}
	if kills < 0 {
		ended.unfed = "most likely the container ran out of memory" + memory.advice()
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		ended.killed = status.Signal()
		ended.code = 128 + int32(status.Signal())
	}
	return ended, nil
}

// locked lets a program's two outputs write to one text.
type locked struct {
	mu   sync.Mutex
	to   io.WriteCloser
	also io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.also != nil {
		_, _ = l.also.Write(p)
	}
	return l.to.Write(p)
}

// lookup finds a program on the engine's PATH, which may be another than the runner's. It is empty when there is none.
func (a *attempt) lookup(program string) string {
	for _, dir := range filepath.SplitList(variable(a.Environ, "PATH")) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// run runs a step of the engine and gives its exit code and its events. Exit codes other than those that are fine are
// a *programError, and so is an error that it told before it ended well: Terragrunt's code may take one for none.
func (a *attempt) run(ctx context.Context, step engine.Step, do call, fine ...int32) (int32, engine.Events, error) {
	if err := os.Remove(a.work.events()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, engine.Events{}, err
	}
	do.listen = a.engine.PrintsEvents(step)
	ended, events, err := a.launchAndRead(ctx, do)
	if err != nil {
		return ended.code, events, err
	}
	if slices.Contains(append(fine, 0), ended.code) && len(events.Errors) == 0 {
		return ended.code, events, nil
	}
	if len(events.Errors) == 0 && ended.killed == 0 && !strings.Contains(ended.last, tooOld) {
		events.Errors = engine.ReadErrors(ended.last)
	}
	a.tellLock(events.Errors)
	failed := &programError{
		class:    engine.Classify(step, int(ended.code), events.Errors),
		message:  explain(a.engine.Name(), ended, events),
		exitCode: ended.code,
	}
	if ended.starved != "" { // whatever that broke
		failed.class = engine.Transient
	}
	if why := a.proxy.refused(); why != "" {
		failed.message += "; " + why
	}
	// Of a root module below the repository's root, the pod has what the closure has.
	if first := engine.FirstError(events.Errors); first != nil && first.ReadsFile() && a.order.Path != "" {
		failed.message += "; if the file is in the repository, outside of " + a.order.Path + ", add it to spec.source.git.triggers of the Stack"
	}
	return ended.code, events, failed
}

// launchAndRead runs the engine and gives its events, wherever it tells them.
func (a *attempt) launchAndRead(ctx context.Context, do call) (exit, engine.Events, error) {
	if do.listen || do.heard == nil {
		ended, err := a.launch(ctx, do)
		if err != nil || do.listen {
			return ended, ended.events, err
		}
		events, err := a.readEvents()
		return ended, events, err
	}
	following, err := follow(a.work.events(), do.heard)
	if err != nil {
		return exit{}, engine.Events{}, err
	}
	ended, err := a.launch(ctx, do)
	events, bad := following.end()
	return ended, events, errors.Join(err, bad)
}

func (a *attempt) readEvents() (engine.Events, error) {
	file, err := os.Open(a.work.events())
	if errors.Is(err, os.ErrNotExist) { // it did not come that far
		return engine.Events{}, nil
	}
	if err != nil {
		return engine.Events{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	return engine.ReadEvents(file)
}

// tooOld is what an OpenTofu before 1.12 says.
const tooOld = "not defined: -json-into"

// explain says why a program failed: its first error or, when it told none, what can be known without it.
func explain(name string, ended exit, events engine.Events) string {
	said := said(name, ended, events)
	if ended.starved != "" && ended.killed != syscall.SIGKILL { // it was another process, a provider's most likely
		said += "; a process was killed: " + ended.starved
	}
	return said
}

func said(name string, ended exit, events engine.Events) string {
	killed := ended.killed == syscall.SIGKILL
	if first := engine.FirstError(events.Errors); first != nil && !killed {
		return first.String()
	}
	switch {
	case killed && cmp.Or(ended.starved, ended.unfed) != "":
		return name + " was killed (SIGKILL): " + cmp.Or(ended.starved, ended.unfed)
	case killed:
		return name + " was killed (SIGKILL), and not for the container's memory"
	case ended.killed != 0:
		return fmt.Sprintf("%s was ended by a signal: %s", name, ended.killed)
	case strings.Contains(ended.last, tooOld):
		return "this image's " + name + " is too old for Cairn, which needs 1.12 or later"
	}
	lines := strings.Split(strings.TrimSpace(ended.last), "\n")
	if said := lines[len(lines)-1]; said != "" {
		return fmt.Sprintf("%s ended with exit code %d: %s", name, ended.code, said)
	}
	return fmt.Sprintf("%s ended with exit code %d and said nothing", name, ended.code)
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-t.limit):]
	if over := t.kept.Len() + len(p) - t.limit; over > 0 {
		t.kept.Next(over)
	}
	t.kept.Write(p)
	return n, nil
}
