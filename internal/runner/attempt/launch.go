package attempt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/providermirror"
	"cairn.dev/cairn/internal/runnerapi"
)

// call is a launch of the engine.
type call struct {
	process.Options
	args []string
	// path of the program, when it is another than the engine's.
	path string
	// env are variables for this launch alone, and quiet keeps what it prints out of the log.
	env   []string
	quiet bool
	// mirror serves providers to this launch; nil for none.
	mirror *providermirror.Mirror
	// reads: it only reads a state, so that it is killed when it ignores that it is to end.
	reads bool
}

// launcher starts programs whose output goes to the attempt's log.
func (j *job) launcher() *process.Launcher {
	return &process.Launcher{Secrets: j.secrets, Text: j.text, Cgroup: j.Cgroup, Grace: j.HookGrace}
}

// lookup returns the path of a program on the engine's PATH, which may be another than the runner's; empty when there
// is none.
func (j *job) lookup(program string) string {
	return process.Find(program, process.Variable(j.Environ, "PATH"))
}

// launch runs the engine in the root module until it ends.
//
// When ctx is over the engine is interrupted, once, and waited for, however long it takes: it finishes what it has
// in flight and saves the state. After a second interrupt it would drop everything, and a kill would be even worse.
// Only the engine itself gets the signal: what it started, provider plugins above all, are needed to finish; they
// are its children in a process group that gets no signal.
func (w *workbench) launch(ctx context.Context, do call) (process.Exit, error) {
	cmd := exec.Command(cmp.Or(do.path, w.engine.path), do.args...) //nolint:noctx // it is interrupted below, not killed
	cmd.Dir = w.module()
	cmd.Env = slices.Concat(w.environment(), do.mirror.Environment(), do.env)
	do.Name, do.Stop = cmp.Or(do.Name, w.engine.Name()), process.Interrupt
	launcher := w.launcher()
	if do.quiet {
		launcher.Text = io.Discard
	}
	if do.reads {
		do.Stop = launcher.StopGroup
	}
	if w.engine.Wraps() { // it starts the engine that holds the state, which may outlive it
		do.Group = launcher.NewGroup(do.Name)
	}
	return launcher.Run(ctx, cmd, do.Options)
}

// run runs a step of the engine and returns its exit code and its events. Exit codes other than those that are fine are
// a *programError, and so is an error event before a good end: Terragrunt's code may ignore one.
func (w *workbench) run(ctx context.Context, step engine.Step, do call, fine ...int32) (int32, engine.Events, error) {
	if err := os.Remove(w.work.Events()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, engine.Events{}, err
	}
	do.Events = w.engine.PrintsEvents(step)
	exit, events, err := w.launchAndRead(ctx, do)
	if err != nil {
		return exit.Code, events, err
	}
	if slices.Contains(append(fine, 0), exit.Code) && len(events.Errors) == 0 {
		return exit.Code, events, nil
	}
	said := events
	if len(said.Errors) == 0 && exit.Signal == 0 && !exit.EngineTooOld() {
		said.Errors = engine.ReadErrors(exit.Last)
	}
	w.explainLocks(said.Errors)
	failed := &programError{
		class:    engine.Classify(step, int(exit.Code), said.Errors),
		message:  exit.Explain(w.engine.Name(), said),
		exitCode: exit.Code,
	}
	if exit.OutOfMemory() { // whatever that broke
		failed.class = engine.Transient
	}
	// The server may have rejected what the engine sent last, or a provider that it wants.
	if why := cmp.Or(do.mirror.Rejection(), w.proxy.History().Rejection); why != "" {
		failed.message += "; " + why
	}
	switch first := engine.FirstError(said.Errors); {
	case first == nil:
	case first.PreventsDestroy():
		return exit.Code, events, &preventedError{failed}
	case first.AdvisesSelection():
		failed.message += "; a Run plans all of the code: change the code, or use -target in cairn shell " +
			w.order.Stack
	}
	// Of a root module below the repository's root, the pod has what the closure has.
	if first := engine.FirstError(said.Errors); first != nil && first.ReadsFile() && w.order.Path != "" {
		failed.message += "; if the file is in the repository, outside " +
			"of " + w.order.Path + ", add it to spec.source.git.triggers of the Stack"
	}
	return exit.Code, events, failed
}

// launchAndRead runs the engine and returns its events, wherever it writes them.
func (w *workbench) launchAndRead(ctx context.Context, do call) (process.Exit, engine.Events, error) {
	if do.Events || do.Observe == nil {
		exit, err := w.launch(ctx, do)
		if err != nil || do.Events {
			return exit, exit.Events, err
		}
		events, err := w.readEvents()
		return exit, events, err
	}
	pipe, err := process.OpenEventPipe(w.work.Events(), do.Observe)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	exit, err := w.launch(ctx, do)
	events, bad := pipe.Close()
	return exit, events, errors.Join(err, bad)
}

func (w *workbench) readEvents() (engine.Events, error) {
	file, err := os.Open(w.work.Events())
	if errors.Is(err, os.ErrNotExist) { // it did not come that far
		return engine.Events{}, nil
	}
	if err != nil {
		return engine.Events{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	return engine.ReadEvents(file)
}

// largestAnswer is how much of an answer of the engine is read.
const largestAnswer = 64 << 20

// ask runs a command of the engine that writes no events, and returns what it prints, at most so much.
func (w *workbench) ask(ctx context.Context, do call, most int) ([]byte, process.Exit, error) {
	answer := process.NewBuffer(most)
	do.Answer = answer
	exit, err := w.launch(ctx, do)
	if err == nil && exit.Code != 0 {
		err = &programError{engine.Transient, exit.Explain(cmp.Or(do.Name, w.engine.Name()), engine.Events{}),
			exit.Code}
	}
	return answer.Bytes(), exit, err
}

// askBackend runs a command of the engine about the state in its own backend, and returns its answer.
func (w *workbench) askBackend(ctx context.Context, do call) ([]byte, error) {
	answer, exit, err := w.ask(ctx, do, runnerapi.LargestState)
	if failed, ok := errors.AsType[*programError](err); ok {
		events := engine.Events{Errors: engine.ReadErrors(exit.Last)}
		w.explainLocks(events.Errors)
		failed.class = engine.Classify(engine.StepInit, int(exit.Code), events.Errors)
		failed.message = exit.Explain(w.engine.Name(), events)
	}
	return answer, err
}
