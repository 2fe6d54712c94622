package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cairn.dev/cairn/internal/engine"
)

// applyPlan applies the plan in the workspace: exactly the bytes that the order names, or nothing.
func (a *attempt) applyPlan(ctx context.Context, journal *journal) (result, error) {
	if a.begun[a.order.PlanDigest] {
		return result{}, errors.New("the apply of this plan was begun before; another try needs a new plan")
	}
	file, err := os.Open(a.work.plan())
	if err != nil {
		return result{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	if err := verify(file, a.order.PlanDigest); err != nil {
		return result{}, fmt.Errorf("the plan is not the one that was approved: %w", err)
	}
	// A destroy has to find what this apply was given, even when the apply does not get to its end.
	if !a.order.Destroy {
		if err := a.client.PutInputs(ctx, a.files.kept()); err != nil {
			return result{}, fmt.Errorf("keep the variable files: %w", err)
		}
	}
	if err := os.RemoveAll(a.erroredState()); err != nil {
		return result{}, err
	}
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	if err := a.lockState(ctx); err != nil {
		return result{}, err
	}
	a.begun[a.order.PlanDigest] = true
	a.proxy.open(true)
	if a.order.Command != "" {
		return a.runCommand(ctx, journal)
	}
	args := a.engine.Apply(engine.Apply{
		Events: a.work.events(), VariableFiles: a.files.paths(), Plan: a.work.plan(), Version: a.engine.version,
	})
	code, events, err := a.run(ctx, engine.StepApply, call{args: args, heard: journal.add})
	a.exited = &code
	changed := int32(len(events.Changed))
	a.changed = &changed
	if err != nil {
		return result{}, err
	}
	if events.Done == nil { // Terragrunt's code may leave a command out, or take a failure for none
		return result{}, &programError{class: engine.Transient, message: a.engine.Name() + " ended before all was applied", exitCode: code}
	}
	return result{message: events.Done.String(), exitCode: &code}, nil
}

func (a *attempt) erroredState() string { return filepath.Join(a.ranIn(), engine.ErroredState) }
