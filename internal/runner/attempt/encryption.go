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
func (s *planStep) writesState(ctx context.Context) (why string, err error) {
	if s.order.Destroy { // the engine reports no drift in such a plan
		left, err := s.instancesLeft(ctx)
		if err != nil || left == 0 {
			return "", err
		}
		return "its resources no longer exist", nil
	}
	encrypts, err := s.encryptsAnew(ctx)
	if err != nil || !encrypts {
		return "", err
	}
	return "the code encrypts it in another way", nil
}

// instancesLeft returns how many resources the state has; 0 when that cannot be known.
func (s *planStep) instancesLeft(ctx context.Context) (int, error) {
	data, err := s.proxy.Current(ctx)
	if err != nil {
		return 0, err
	}
	instances, err := engine.ReadInstances(data)
	unreadable := func() bool {
		_, is := errors.AsType[*engine.Rejection](err)
		return is
	}
	if unreadable() {
		instances, err = s.pullInstances(ctx)
	}
	if unreadable() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return instances.Managed(), nil
}

// encryptsAnew reports whether the state is encrypted in another way than the code sets. That is possible only where
// the code has a fallback: without one the engine could not have read the state.
func (s *planStep) encryptsAnew(ctx context.Context) (bool, error) {
	if !s.engine.holder().Traits.Encrypts || s.backend().Own() {
		return false, nil
	}
	variable := process.Variable(s.environment(), engine.EncryptionVariable)
	encryption, err := engine.FindEncryption(os.DirFS(s.ranIn()), variable)
	if err != nil || !encryption.Fallback {
		return false, err
	}
	data, err := s.proxy.Current(ctx)
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
	pull := call{args: s.engine.Args(engine.Pull{VariableFiles: s.files.paths()}), reads: true}
	probe := pull
	probe.env, probe.quiet = []string{engine.EncryptionVariable + "=" + alone}, true
	if _, err := s.askBackend(ctx, probe); err == nil || ctx.Err() != nil || !isProgramError(err) {
		return false, err
	}
	// With the fallback it reads the state, unless the key cannot be had at the moment.
	if _, err := s.askBackend(ctx, pull); err != nil {
		return false, fmt.Errorf("read the encrypted state: %w", err)
	}
	return true, nil
}

func isProgramError(err error) bool {
	_, ok := errors.AsType[*programError](err)
	return ok
}
