package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/recovery"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// A command is a script that applies the plan in place of the engine. It runs like a hook, but may write the state:
// the engine that it runs takes the lock, and is waited for however long it takes.

// planFile names the saved plan to scripts.
const planFile = "CAIRN_PLAN_FILE"

// wroteNothing is the message about a script that applied nothing.
const wroteNothing = `wrote no state, so that nothing of the plan is applied: ` +
	`let it apply the plan, as in tofu apply "$` + planFile + `", or fail`

// highestSignal is above any signal that a shell adds to 128 in the exit code of a program that the signal ended.
const highestSignal = 65

// command returns the order's script.
func (a *attempt) command() hook {
	name := "spec.commands.apply"
	if a.order.Destroy {
		name = "spec.commands.destroy"
	}
	return hook{runnerapi.Hook{Step: "apply", Script: a.order.Command}, name}
}

// runCommand runs the script, and checks what it did.
func (a *attempt) runCommand(ctx context.Context, journal *report.Journal) (result, error) {
	h := a.command()
	fmt.Fprintf(a.text, "%s runs in place of %s\n", h.called(), a.engine.Name())
	before := a.proxy.History().Writes
	group := a.launcher().NewGroup(h.called())
	ended, events, err := a.followCommand(ctx, h, group, journal)
	if len(events.Changed) > 0 || events.Done != nil { // otherwise it is unknown
		changed := int32(len(events.Changed))
		a.changed = &changed
	}
	if err != nil {
		return result{}, err
	}
	a.proxy.Wait()
	if ended.Code != 0 {
		return result{}, a.commandFailed(h, ended, events)
	}
	failed := func(class engine.Class, format string, args ...any) error {
		return &programError{class, h.called() + " ended well, but " + fmt.Sprintf(format, args...), ended.Code}
	}
	wrote := a.backend().Own() || a.proxy.History().Writes > before // of a backend of the engine's own, checkWrote checks it
	switch lost, err := a.stranded(); {
	case err != nil || lost != nil:
		return result{}, failed(engine.Transient, "its engine could not write the state: %s", a.rejection())
	case group.EngineOutlived():
		return result{}, failed(engine.ConfigurationError, "before an engine that it started, which was interrupted: let "+
			"it wait for it")
	case a.proxy.History().Locked:
		return result{}, failed(engine.Transient,
			"left the state's lock: an engine that it started did not get to its end. The next attempt takes the lock")
	case !wrote && !a.order.Destroy:
		return result{}, failed(engine.ConfigurationError, wroteNothing)
	}
	if !wrote { // the outputs step needs the state all the same
		if _, err := a.proxy.Current(ctx); err != nil {
			return result{}, fmt.Errorf("read the state: %w", err)
		}
	}
	if left, err := a.leftSealed(ctx); err != nil {
		return result{}, err
	} else if left > 0 {
		return result{}, failed(engine.ConfigurationError, "the state holds %d resources still", left)
	}
	return result{message: a.commandDid(h), exitCode: &ended.Code}, nil
}

// checkWrote rejects a script that succeeded and changed nothing in a backend of the engine's own.
func (a *attempt) checkWrote() error {
	if a.order.Command == "" || a.order.Destroy || a.followed {
		return nil
	}
	return &engine.Rejection{Reason: a.command().called() + " ended well, but " + wroteNothing}
}

// leftSealed returns how many resources a destroy has left in a state that the engine encrypts. Cairn cannot read
// such a state, and the exit code of a script does not prove that it is empty.
func (a *attempt) leftSealed(ctx context.Context) (int, error) {
	state, err := a.proxy.History().State()
	if err != nil || !a.order.Destroy || state.Encrypted == nil {
		return 0, err
	}
	instances, err := a.pullInstances(ctx)
	if err != nil {
		return 0, err
	}
	return instances.Managed(), nil
}

// commandDid returns the message of a script that succeeded.
func (a *attempt) commandDid(h hook) string {
	if a.changed == nil {
		return "by " + h.called()
	}
	return "by " + h.called() + ": " + counted(int(*a.changed), "resource") + " changed"
}

// commandFailed returns why a script failed. An error of its engine is transient, as in an apply without a script,
// and so is the end by a signal; for all else the script's exit code decides.
func (a *attempt) commandFailed(h hook, ended process.Exit, events engine.Events) error {
	if len(events.Errors) == 0 && ended.Signal == 0 {
		events.Errors = engine.ReadErrors(ended.Last)
	}
	a.explainLocks(events.Errors)
	failed := &programError{engine.ConfigurationError, ended.Explain(h.called(), events), ended.Code}
	signaled := ended.Signal != 0 || ended.Code > 128 && ended.Code < 128+highestSignal
	if ended.Code == tryAgain || signaled || ended.OutOfMemory() || len(events.Errors) > 0 {
		failed.class = engine.Transient
	}
	if a.proxy.History().Locked {
		failed.message += "; it left the state's lock, which the next attempt takes"
	}
	if why := a.rejection(); why != "" {
		failed.message += "; " + why
	}
	return failed
}

// followCommand runs the script, and adds to the journal what its engine has done, where that writes events to a file.
func (a *attempt) followCommand(
	ctx context.Context, h hook, group *process.Group, journal *report.Journal,
) (process.Exit, engine.Events, error) {
	if err := os.Remove(a.work.Events()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return process.Exit{}, engine.Events{}, err
	}
	into := ""
	if !a.engine.PrintsEvents(engine.StepApply) {
		into = a.work.Events()
	}
	env, err := a.commandEnvironment(h, into)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	cmd, err := a.script(h, env)
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	if into == "" {
		ended, err := a.launchCommand(ctx, cmd, h, group)
		return ended, engine.Events{}, err
	}
	pipe, err := process.OpenEventPipe(into, a.observe(journal))
	if err != nil {
		return process.Exit{}, engine.Events{}, err
	}
	ended, err := a.launchCommand(ctx, cmd, h, group)
	events, bad := pipe.Close()
	return ended, events, errors.Join(err, bad)
}

func (a *attempt) launchCommand(
	ctx context.Context, cmd *exec.Cmd, h hook, group *process.Group,
) (process.Exit, error) {
	a.proxy.DenyLockAfterLoss(func(string, []byte) bool { return true })
	ended, err := a.launcher().Run(ctx, cmd, process.Options{Name: h.called(), Group: group, Stop: group.Stop})
	if err != nil {
		return ended, cannotRun(h, err)
	}
	return ended, nil
}

// commandEnvironment returns what hooks get, and arguments for the commands of the engine: the variable files,
// since the script may plan again, and the file for events.
func (a *attempt) commandEnvironment(h hook, events string) ([]string, error) {
	env, err := a.aboutRun()
	if err != nil {
		return nil, err
	}
	env = append(env, "CAIRN_STEP="+h.Step)
	env = append(env, a.planEnvironment()...)
	env = append(env, a.engine.environment()...)
	files := a.variableArguments()
	for _, command := range takeVariables {
		args := files
		if command == "apply" && a.rejectsVariables() {
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
func (a *attempt) rejectsVariables() bool {
	args := a.engine.Args(engine.Apply{VariableFiles: []string{"any"}, Plan: a.work.Plan(), Version: a.engine.version})
	return a.appliesPlan() && !slices.Contains(args, "-var-file=any")
}

// appliesPlan reports whether the script names the plan's file, which counts as applying it.
func (a *attempt) appliesPlan() bool { return strings.Contains(a.order.Command, planFile) }

// checkScript reports what a plan takes into the state where a script may not apply that plan: a script that plans
// again does not know of it, and would create it again.
func (a *attempt) checkScript(r *recovery.Recovery) {
	if a.order.Command == "" || a.appliesPlan() {
		return
	}
	for _, m := range r.Planned() {
		r.Orphan(m, fmt.Sprintf("%s does not apply the plan that takes it in: let it run the engine's apply with $%s",
			a.command().called(), planFile))
	}
}
