package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// applyStep applies the plan in the workspace.
type applyStep struct {
	*workbench
	// journal gets what was done.
	journal *report.Journal
	// state follows that of the engine's own backend.
	state *follower
	// changed is how many resources were changed; nil when that is not known.
	changed *int32
	// reachedEnd: the engine has reported how the apply ended.
	reachedEnd bool
}

// applyPlan applies the plan in the workspace: exactly the bytes that the order names, or nothing.
func (s *applyStep) applyPlan(ctx context.Context) (result, error) {
	if s.begun[s.order.PlanDigest] {
		return result{}, errors.New("the apply of this plan was begun before; another try needs a new plan")
	}
	file, err := os.Open(s.work.Plan())
	if err != nil {
		return result{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	if err := workspace.Verify(file, s.order.PlanDigest); err != nil {
		return result{}, fmt.Errorf("the plan is not the one that was approved: %w", err)
	}
	// A destroy has to find the variables of this apply, even when the apply fails.
	if !s.order.Destroy {
		if err := s.client.PutInputs(ctx, s.files.kept()); err != nil {
			return result{}, fmt.Errorf("keep the variable files: %w", err)
		}
	}
	if err := os.RemoveAll(s.erroredState()); err != nil {
		return result{}, err
	}
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	if err := s.state.lockState(ctx); err != nil {
		return result{}, err
	}
	s.begun[s.order.PlanDigest] = true
	s.proxy.AllowWrites(true)
	if s.order.Command != "" {
		command := &commandStep{workbench: s.workbench, observe: s.observe}
		res, err := command.runCommand(ctx)
		s.changed = command.changed
		return res, err
	}
	args := s.engine.Args(engine.Apply{
		Events: s.work.Events(), VariableFiles: s.files.paths(), Plan: s.work.Plan(), Version: s.engine.version,
	})
	do := call{Options: process.Options{Observe: s.observe}, args: args}
	code, events, err := s.run(ctx, engine.StepApply, do)
	s.reachedEnd = (code == 0 || code == 1) && events.Ended()
	changed := int32(len(events.Changed))
	s.changed = &changed
	if err != nil {
		return result{}, err
	}
	if events.Done == nil { // Terragrunt's code may skip a command, or ignore a failure
		return result{}, &programError{engine.Transient, s.engine.Name() + " ended before all was applied", code}
	}
	return result{message: events.Done.String(), exitCode: &code}, nil
}

// observe is called for the operations of the apply: users see all of them, and the journal gets what was done.
func (s *applyStep) observe(what engine.Done, state runnerapi.OperationState) {
	s.operations.Add(what, state)
	if state == runnerapi.OperationSucceeded {
		s.journal.Add(what)
	}
}

// flush waits until the whole journal has arrived, since the report that follows ends the attempt: as long as any
// request to a server that is away.
func (s *applyStep) flush(podCtx context.Context) {
	ctx, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, max(s.order.Patience, lastLogWait))
	defer cancel()
	s.journal.End(ctx)
}

// saved reports whether the state has all that the apply did, and what its plan took in: the engine wrote it and came
// to its end, since it released the lock or, with a backend of its own, reported so, and nothing is left that it could
// not write.
func (s *applyStep) saved() bool {
	left, err := (&rescuer{s.workbench}).stranded()
	finished := s.proxy.History().Finished() || s.state.followed && s.reachedEnd
	return err == nil && left == nil && finished
}
