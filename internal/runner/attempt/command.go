package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/recovery"
	"cairn.dev/cairn/internal/runnerapi"
)

// A command is a script that applies the plan in place of the engine. It runs like a hook, but may write the state:
// the engine that it runs takes the lock, and is waited for however long it takes.

// commandStep runs such a script.
type commandStep struct {
	*workbench
	observe engine.Observer
	// changed is how many resources it changed; nil when that is not known.
	changed *int32
}

// planFile names the saved plan to scripts.
const planFile = "CAIRN_PLAN_FILE"

// wroteNothing is the message about a script that applied nothing.
const wroteNothing = `wrote no state, so that nothing of the plan is applied: ` +
	`let it apply the plan, as in tofu apply "$` + planFile + `", or fail`

// highestSignal is above any signal that a shell adds to 128 in the exit code of a program that the signal ended.
const highestSignal = 65

// command returns the order's script.
func (j *job) command() hook {
	name := "spec.commands.apply"
	if j.order.Destroy {
		name = "spec.commands.destroy"
	}
	return hook{runnerapi.Hook{Step: "apply", Script: j.order.Command}, name}
}

// runCommand runs the script, and checks what it did.
func (s *commandStep) runCommand(ctx context.Context) (result, error) {
	h := s.command()
	fmt.Fprintf(s.text, "%s runs in place of %s\n", h.called(), s.engine.Name())
	before := s.proxy.History().Writes
	group := s.launcher().NewGroup(h.called())
	ended, events, err := s.followCommand(ctx, h, group)
	if len(events.Changed) > 0 || events.Done != nil { // otherwise it is unknown
		changed := int32(len(events.Changed))
		s.changed = &changed
	}
	if err != nil {
		return result{}, err
	}
	s.proxy.Wait()
	if ended.Code != 0 {
		return result{}, s.commandFailed(h, ended, events)
	}
	failed := func(class engine.Class, format string, args ...any) error {
		return &programError{class, h.called() + " ended well, but " + fmt.Sprintf(format, args...), ended.Code}
	}
	// of a backend of the engine's own, checkWrote checks it
	wrote := s.backend().Own() || s.proxy.History().Writes > before
	switch lost, err := (&rescuer{s.workbench}).stranded(); {
	case err != nil || lost != nil:
		return result{}, failed(engine.Transient, "its engine could not write the state: %s",
			s.proxy.History().Rejection)
	case group.EngineOutlived():
		return result{}, failed(engine.ConfigurationError,
			"before an engine that it started, which was interrupted: let "+
				"it wait for it")
	case s.proxy.History().Locked:
		return result{}, failed(engine.Transient,
			"left the state's lock: an engine that it started did not get to its end. The next attempt takes the lock")
	case !wrote && !s.order.Destroy:
		return result{}, failed(engine.ConfigurationError, wroteNothing)
	}
	if !wrote { // the outputs step needs the state all the same
		if _, err := s.proxy.Current(ctx); err != nil {
			return result{}, fmt.Errorf("read the state: %w", err)
		}
	}
	if left, err := s.leftSealed(ctx); err != nil {
		return result{}, err
	} else if left > 0 {
		return result{}, failed(engine.ConfigurationError, "the state holds %d resources still", left)
	}
	return result{message: s.commandDid(h), exitCode: &ended.Code}, nil
}

// checkWrote rejects a script that succeeded and changed nothing in a backend of the engine's own.
func (s *follower) checkWrote() error {
	if s.order.Command == "" || s.order.Destroy || s.followed {
		return nil
	}
	return &engine.Rejection{Reason: s.command().called() + " ended well, but " + wroteNothing}
}

// leftSealed returns how many resources a destroy has left in a state that the engine encrypts. Cairn cannot read
// such a state, and the exit code of a script does not prove that it is empty.
func (s *commandStep) leftSealed(ctx context.Context) (int, error) {
	state, err := s.proxy.History().State()
	if err != nil || !s.order.Destroy || state.Encrypted == nil {
		return 0, err
	}
	instances, err := s.pullInstances(ctx)
	if err != nil {
		return 0, err
	}
	return instances.Managed(), nil
}

// commandDid returns the message of a script that succeeded.
func (s *commandStep) commandDid(h hook) string {
	if s.changed == nil {
		return "by " + h.called()
	}
	return "by " + h.called() + ": " + shorten.Count(int(*s.changed), "resource") + " changed"
}

// commandFailed returns why a script failed. An error of its engine is transient, as in an apply without a script,
// and so is the end by a signal; for all else the script's exit code decides.
func (s *commandStep) commandFailed(h hook, ended process.Exit, events engine.Events) error {
	if len(events.Errors) == 0 && ended.Signal == 0 {
		events.Errors = engine.ReadErrors(ended.Last)
	}
	s.explainLocks(events.Errors)
	failed := &programError{engine.ConfigurationError, ended.Explain(h.called(), events), ended.Code}
	signaled := ended.Signal != 0 || ended.Code > 128 && ended.Code < 128+highestSignal
	if ended.Code == tryAgain || signaled || ended.OutOfMemory() || len(events.Errors) > 0 {
		failed.class = engine.Transient
	}
	if s.proxy.History().Locked {
		failed.message += "; it left the state's lock, which the next attempt takes"
	}
	if why := s.proxy.History().Rejection; why != "" {
		failed.message += "; " + why
	}
	return failed
}

// followCommand runs the script, and adds to the journal what its engine has done, where that writes events to a file.
func (s *commandStep) followCommand(
	ctx context.Context, h hook, group *process.Group,
) (process.Exit, engine.Events, error) {
	if err := os.Remove(s.work.Events()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return process.Exit{}, engine.Events{}, err
	}
	into := ""
	if !s.engine.PrintsEvents(engine.StepApply) {
		into = s.work.Events()
	}
	env, err := s.commandEnvironment(h, into)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	cmd, err := s.script(h, env)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	if into == "" {
		ended, err := s.launchCommand(ctx, cmd, h, group)
		return ended, engine.Events{}, err
	}
	pipe, err := process.OpenEventPipe(into, s.observe)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	ended, err := s.launchCommand(ctx, cmd, h, group)
	events, bad := pipe.Close()
	return ended, events, errors.Join(err, bad)
}

func (s *commandStep) launchCommand(
	ctx context.Context, cmd *exec.Cmd, h hook, group *process.Group,
) (process.Exit, error) {
	s.proxy.DenyLockAfterLoss(func(string, []byte) bool { return true })
	ended, err := s.launcher().Run(ctx, cmd, process.Options{Name: h.called(), Group: group, Stop: group.Stop})
	if err != nil {
		return ended, cannotRun(h, err)
	}
	return ended, nil
}

// commandEnvironment returns what hooks get, and arguments for the commands of the engine: the variable files,
// since the script may plan again, and the file for events.
func (s *commandStep) commandEnvironment(h hook, events string) ([]string, error) {
	env, err := s.aboutRun()
	if err != nil {
		return nil, err
	}
	env = append(env, "CAIRN_STEP="+h.Step)
	env = append(env, s.planEnvironment()...)
	env = append(env, s.engine.Environment()...)
	files := s.files.arguments()
	for _, command := range takeVariables {
		args := files
		if command == "apply" && s.rejectsVariables() {
			args = nil
		}
		if events != "" && (command == "apply" || command == "destroy") {
			args = slices.Concat([]string{"-json-into=" + events}, args)
		}
		if len(args) > 0 {
			env = append(env, "TF_CLI_ARGS_"+command+"="+strings.Join(args, " "))
		}
	}
	return process.WithoutNUL(env), nil
}

// rejectsVariables reports whether the script applies the saved plan, and the engine rejects variable files beside a
// plan, as older Terraforms do.
func (s *commandStep) rejectsVariables() bool {
	args := s.engine.Args(engine.Apply{VariableFiles: []string{"any"}, Plan: s.work.Plan(), Version: s.engine.version})
	return s.appliesPlan() && !slices.Contains(args, "-var-file=any")
}

// appliesPlan reports whether the script names the plan's file, which counts as applying it.
func (j *job) appliesPlan() bool { return strings.Contains(j.order.Command, planFile) }

// checkScript reports what a plan takes into the state where a script may not apply that plan: a script that plans
// again does not know of it, and would create it again.
func (s *planStep) checkScript(r *recovery.Recovery) {
	if s.order.Command == "" || s.appliesPlan() {
		return
	}
	for _, m := range r.Planned() {
		r.Orphan(m, fmt.Sprintf("%s does not apply the plan that takes it in: let it run the engine's apply with $%s",
			s.command().called(), planFile))
	}
}
