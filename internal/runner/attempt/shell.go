package attempt

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/shell"
)

// shell does the steps of an order for a shell.
func (a *attempt) shell(ctx, podCtx context.Context) error {
	steps, err := a.choose()
	if err != nil {
		return err
	}
	if steps = append(steps, "shell"); a.backend().Own() {
		steps = append(steps, "state")
	}
	a.expect(steps...)
	if err := a.prepare(ctx, false); err != nil {
		return err
	}
	if err := os.RemoveAll(a.erroredState()); err != nil {
		return err
	}
	env, err := a.shellEnvironment()
	if err != nil {
		return err
	}
	session, err := shell.Open(a.work, shell.Config{Dir: a.module(), Env: env})
	if err != nil {
		return err
	}
	defer session.Close()
	if err := a.lockState(ctx); err != nil {
		return err
	}
	a.proxy.DenyLockAfterLoss(a.deniedInShell)
	a.proxy.AllowWrites(true) // until the end: what a killed engine sent may still arrive
	err = a.step(ctx, "shell", func(ctx context.Context) (result, error) {
		message, err := session.Wait(ctx, a.text)
		return result{message: message}, err
	})
	unfollowed := a.followAfter(podCtx, err == nil)
	lost := a.rescue(podCtx)
	a.unlockState(podCtx)
	return cmp.Or(lost, err, unfollowed)
}

// statePush is the operation of an engine that pushes a state.
const statePush = "state-push"

// deniedInShell returns true for what a user in a shell may not do after an apply whose state could not be written:
// all but put it back. What was no apply leaves no file, created nothing, and may be tried again; an older file may be
// there, which was put back.
func (a *attempt) deniedInShell(operation string, lost []byte) bool {
	left, err := a.readErrored()
	return operation != statePush && (err != nil || left != nil && !olderState(left, lost))
}

// shellEnvironment returns what the engine gets, but that it may ask the user; and the variable files for those
// commands that take them.
func (a *attempt) shellEnvironment() ([]string, error) {
	env, err := a.aboutRun()
	if err != nil {
		return nil, err
	}
	env = slices.DeleteFunc(env, func(pair string) bool {
		return strings.HasPrefix(pair, "TF_INPUT=") || strings.HasPrefix(pair, "TF_IN_AUTOMATION=")
	})
	if args := a.variableArguments(); len(args) > 0 {
		for _, command := range takeVariables {
			env = append(env, "TF_CLI_ARGS_"+command+"="+strings.Join(args, " "))
		}
	}
	return process.WithoutNUL(env), nil
}

// takeVariables are the commands of an engine that take variable files.
var takeVariables = []string{"plan", "apply", "destroy", "import", "refresh", "console"}

// variableArguments returns the variable files as arguments of such a command in its TF_CLI_ARGS.
func (a *attempt) variableArguments() []string {
	var args []string
	for _, path := range a.files.paths() {
		args = append(args, "'-var-file="+path+"'")
	}
	return args
}
