package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
)

// writesState returns why the apply of a plan that changes nothing would write the state; empty when it would not.
func (a *attempt) writesState(ctx context.Context) (why string, err error) {
	if a.order.Destroy { // the engine reports no drift in such a plan
		left, err := a.instancesLeft(ctx)
		if err != nil || left == 0 {
			return "", err
		}
		return "its resources no longer exist", nil
	}
	encrypts, err := a.encryptsAnew(ctx)
	if err != nil || !encrypts {
		return "", err
	}
	return "the code encrypts it in another way", nil
}

// instancesLeft returns how many resources the state has; 0 when that cannot be known.
func (a *attempt) instancesLeft(ctx context.Context) (int, error) {
	data, err := a.proxy.Current(ctx)
	if err != nil {
		return 0, err
	}
	instances, err := engine.ReadInstances(data)
	unreadable := func() bool {
		_, is := errors.AsType[*engine.Rejection](err)
		return is
	}
	if unreadable() {
		instances, err = a.pullInstances(ctx)
	}
	if unreadable() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return instances.Managed(), nil
}

// encryptsAnew reports whether the state is encrypted in another way than the code sets. That is possible only where the
// code has a fallback: without one the engine could not have read the state.
func (a *attempt) encryptsAnew(ctx context.Context) (bool, error) {
	if !a.engine.holder().Traits().Encrypts || a.backend().Own() {
		return false, nil
	}
	variable := process.Variable(a.environment(), engine.EncryptionVariable)
	encryption, err := engine.FindEncryption(os.DirFS(a.ranIn()), variable)
	if err != nil || !encryption.Fallback {
		return false, err
	}
	data, err := a.proxy.Current(ctx)
	if err != nil || data == nil {
		return false, err
	}
	state, err := engine.ParseState(data)
	if err != nil {
		return false, err
	}
	if state.Encrypted == nil || encryption.Clear() {
		return (state.Encrypted == nil) != encryption.Clear(), nil
	}
	alone, ok := encryption.WithoutFallback(variable)
	if !ok {
		return false, nil
	}
	pull := call{args: a.engine.Args(engine.Pull{VariableFiles: a.files.paths()}), reads: true}
	probe := pull
	probe.env, probe.quiet = []string{engine.EncryptionVariable + "=" + alone}, true
	if _, err := a.askBackend(ctx, probe); err == nil || ctx.Err() != nil || !isProgramError(err) {
		return false, err
	}
	// With the fallback it reads the state, unless the key cannot be had at the moment.
	if _, err := a.askBackend(ctx, pull); err != nil {
		return false, fmt.Errorf("read the encrypted state: %w", err)
	}
	return true, nil
}

func isProgramError(err error) bool {
	_, ok := errors.AsType[*programError](err)
	return ok
}
