package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// apply does the steps of an order to apply. What follows the engine has to be done even when the attempt has timed
// out: it runs on the pod's context, and outlives that too.
func (a *attempt) apply(ctx, podCtx context.Context) error {
	steps := []string{"apply"}
	if a.backend().Own() {
		steps = append(steps, "state")
	}
	if a.order.Outputs {
		steps = append(steps, "outputs")
	}
	if a.ready != nil && a.ready.digest == a.order.PlanDigest {
		a.files, a.engine, a.about = a.ready.files, a.ready.engine, a.ready.about
		a.backendType, a.fetched = a.ready.backendType, true
		a.proxy.ExpectPlanned(a.ready.state)
		a.expect(steps...)
	} else {
		prepare, err := a.choose()
		if err != nil {
			return err
		}
		a.expect(append(prepare, steps...)...)
		if err := a.prepare(ctx, true); err != nil {
			return err
		}
	}
	a.ready = nil
	if err := a.runHooks(ctx, "apply", before); err != nil {
		return err
	}
	journal := report.StartJournal(a.client, a.DisownedAfter, a.Log)
	defer journal.Abandon()
	err := a.step(ctx, "apply", func(ctx context.Context) (result, error) { return a.applyPlan(ctx, journal) })
	unfollowed := a.followAfter(podCtx, err == nil)
	lost := a.rescue(podCtx)
	a.unlockState(podCtx)
	if a.allSaved = a.saved(); !a.allSaved {
		a.flush(podCtx, journal)
	}
	if err := cmp.Or(lost, err, unfollowed); err != nil {
		return err
	}
	a.proxy.AllowWrites(false)
	err = a.runHooks(ctx, "apply", after)
	if !a.order.Outputs {
		return err
	}
	return a.stepOutputs(ctx, podCtx, err)
}

// applyPlan applies the plan in the workspace: exactly the bytes that the order names, or nothing.
func (a *attempt) applyPlan(ctx context.Context, journal *report.Journal) (result, error) {
	if a.begun[a.order.PlanDigest] {
		return result{}, errors.New("the apply of this plan was begun before; another try needs a new plan")
	}
	file, err := os.Open(a.work.Plan())
	if err != nil {
		return result{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	if err := workspace.Verify(file, a.order.PlanDigest); err != nil {
		return result{}, fmt.Errorf("the plan is not the one that was approved: %w", err)
	}
	// A destroy has to find the variables of this apply, even when the apply fails.
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
	a.proxy.AllowWrites(true)
	if a.order.Command != "" {
		return a.runCommand(ctx, journal)
	}
	args := a.engine.Args(engine.Apply{
		Events: a.work.Events(), VariableFiles: a.files.paths(), Plan: a.work.Plan(), Version: a.engine.version,
	})
	do := call{Options: process.Options{Observe: a.observe(journal)}, args: args}
	code, events, err := a.run(ctx, engine.StepApply, do)
	a.reachedEnd = (code == 0 || code == 1) && events.Ended()
	changed := int32(len(events.Changed))
	a.changed = &changed
	if err != nil {
		return result{}, err
	}
	if events.Done == nil { // Terragrunt's code may skip a command, or ignore a failure
		return result{}, &programError{engine.Transient, a.engine.Name() + " ended before all was applied", code}
	}
	return result{message: events.Done.String(), exitCode: &code}, nil
}

// observe returns the observer of an apply: users see all operations, and the journal gets what was done.
func (a *attempt) observe(journal *report.Journal) engine.Observer {
	return func(what engine.Done, state runnerapi.OperationState) {
		a.operations.Add(what, state)
		if state == runnerapi.OperationSucceeded {
			journal.Add(what)
		}
	}
}

func (a *attempt) erroredState() string { return filepath.Join(a.ranIn(), engine.ErroredState) }
