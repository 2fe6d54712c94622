package attempt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/recovery"
	"cairn.dev/cairn/internal/runnerapi"
)

// journal is what earlier applies have done that the state may not have, and the name of its end.
type journal struct {
	done []engine.Done
	end  string
}

// fetchJournal reads what earlier applies have done.
func (s *fetchStep) fetchJournal(ctx context.Context) error {
	if s.order.Kind != runnerapi.OrderPlan {
		return nil
	}
	read, err := s.client.Journal(ctx)
	final := []int{http.StatusConflict, http.StatusBadRequest} // and would be again
	if rejected, ok := errors.AsType[*runnerapi.Error](err); ok && slices.Contains(final, rejected.Code) {
		return &engine.Rejection{Reason: rejected.Message}
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	s.journal = journal{append([]engine.Done(nil), read.Entries...), read.UpTo}
	return nil
}

// recover prepares to take into the state what it does not have of the journal. plan runs the engine's plan.
func (s *planStep) recover(
	ctx context.Context, done []engine.Done, plan func() error,
) (*recovery.Recovery, error) {
	o := recovery.Options{
		Engine: &recoveryEngine{s.workbench, plan}, Journal: done, Destroy: s.order.Destroy, Log: s.text,
		Clean: s.clean,
	}
	if len(done) == 0 {
		return recovery.New(ctx, o)
	}
	if s.backend().Own() {
		o.Sealed = "the engine keeps the state in a backend of its own, so that Cairn cannot prepare it"
	}
	state, err := s.proxy.Current(ctx)
	if err != nil {
		return nil, err
	}
	o.State, err = engine.ReadInstances(state)
	if _, encrypted := errors.AsType[*engine.Rejection](err); encrypted {
		o.Sealed = "the engine encrypts the state, so that Cairn cannot prepare it"
		o.State, err = s.pullInstances(ctx)
	}
	if err != nil {
		return nil, err
	}
	return recovery.New(ctx, o)
}

// pullInstances has the engine decrypt a state that it encrypts.
func (w *workbench) pullInstances(ctx context.Context) (*engine.Instances, error) {
	answer, _, err := w.ask(ctx, call{args: w.engine.Args(engine.Pull{VariableFiles: w.files.paths()})},
		runnerapi.LargestState)
	if err != nil {
		return nil, err
	}
	return engine.ReadInstances(answer)
}

// recoveryEngine lets a recovery use the attempt's engine.
type recoveryEngine struct {
	*workbench
	plan func() error
}

// Import implements recovery.Engine.
func (e *recoveryEngine) Import(ctx context.Context, m engine.Missing, state []byte) (imported []byte, rejected,
	err error) {
	e.proxy.BeginOverlay(state)
	args := e.engine.Args(engine.Adopt{VariableFiles: e.files.paths(), Address: m.Address, ID: m.ID})
	exit, err := e.launch(ctx, call{args: args})
	imported = e.proxy.EndOverlay()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && exit.Code != 0 {
		rejected = errors.New(exit.Explain(e.engine.Name(), engine.Events{Errors: engine.ReadErrors(exit.Last)}))
	}
	return imported, rejected, err
}

// Plan implements recovery.Engine.
func (e *recoveryEngine) Plan(_ context.Context, imports []engine.Missing, state []byte) error {
	file := filepath.Join(e.module(), engine.ImportFile)
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	if len(imports) > 0 {
		if err := os.WriteFile(file, engine.ImportBlocks(imports), 0o600); err != nil {
			return err
		}
	}
	if state != nil {
		e.proxy.BeginOverlay(state)
		defer e.proxy.EndOverlay()
	}
	return e.plan()
}
