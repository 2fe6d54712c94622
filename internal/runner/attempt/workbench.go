package attempt

import (
	"context"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/stateproxy"
)

// workbench is the workspace of an order with all that the engine needs there: it starts the engine, and scripts.
type workbench struct {
	*job
	// proxy serves the state to the engine.
	proxy *stateproxy.Proxy
	setup
}

// setup is what the steps of the preparation set, and what an apply in the pod of its plan gets from that.
type setup struct {
	// engine is what does the work.
	engine tool
	// fetched: the code is this attempt's.
	fetched bool
	// files are the variable files that the engine gets.
	files variableFiles
	// gitEnv are the variables with which git, which the engine starts, gets the credentials for the hosts of modules.
	gitEnv []string
	// inCode is the code's own backend block, where spec.backend is for code without one; nil while there is none.
	inCode *engine.OwnBackend
	// backendType is the type of the engine's own backend, once the engine was initialized.
	backendType string
	// about is what hooks get to know of the plan in the workspace; nil while there is none.
	about *aboutPlan
}

// ready is what a plan leaves for its apply.
type ready struct {
	setup
	digest string
	// state is the one that was planned with; nil when it is not known.
	state []byte
}

// step does a step, and adds to a message about the code which of its files cannot be read.
func (w *workbench) step(ctx context.Context, name string, do func(context.Context) (result, error)) error {
	return w.job.step(ctx, name, do, w.unreadable)
}

// sequence does those of the steps that are needed, in order, with the hooks before and after each.
func (w *workbench) sequence(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if s.needed != nil && !s.needed() {
			continue
		}
		if err := w.runHooks(ctx, s.name, before); err != nil {
			return err
		}
		if err := w.step(ctx, s.name, s.run); err != nil {
			return err
		}
		if err := w.runHooks(ctx, s.name, after); err != nil {
			return err
		}
	}
	return nil
}

// expectSteps reports which of the steps there will be.
func (w *workbench) expectSteps(steps ...step) {
	for _, s := range steps {
		if s.needed == nil || s.needed() {
			w.expect(s.name)
		}
	}
}
