package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runner/shell"
	"cairn.dev/cairn/internal/runner/stateproxy"
	"cairn.dev/cairn/internal/runnerapi"
)

// execute does the steps of the order, and returns what is reported of them, also when one fails. ctx is over when the
// attempt is to end, podCtx only when the runner is to stop.
func (j *job) execute(ctx, podCtx context.Context) (runnerapi.Done, error) {
	if j.order.Kind == runnerapi.OrderBuild {
		return j.build(ctx)
	}
	proxy, err := stateproxy.Start(podCtx, j.client, j.secrets, j.Log)
	if err != nil {
		return runnerapi.Done{}, err
	}
	defer proxy.Close()
	w := &workbench{job: j, proxy: proxy}
	planned := j.ready
	j.ready = nil
	switch j.order.Kind {
	case runnerapi.OrderApply:
		return w.apply(ctx, podCtx, planned)
	case runnerapi.OrderShell:
		return runnerapi.Done{}, w.shell(ctx, podCtx)
	}
	return w.plan(ctx, podCtx)
}

// build does the steps of an order to build an image.
func (j *job) build(ctx context.Context) (done runnerapi.Done, err error) {
	if j.order.Build == nil {
		return done, errors.New("the server's order has no image to build")
	}
	s := &buildStep{job: j}
	j.expect("fetch", "build")
	if err := j.step(ctx, "fetch", s.fetchContext, nil); err != nil {
		return done, err
	}
	err = j.step(ctx, "build", s.buildImage, nil)
	done.Image = s.digest
	return done, err
}

// preparation returns the steps that prepare the workspace for the engine that the order names, with a saved plan in it
// or without, and the first of them, which learns the journal.
func (w *workbench) preparation(withPlan bool) ([]step, *fetchStep, error) {
	e, ok := engine.Find(w.order.Engine)
	if !ok {
		return nil, nil, &engine.Rejection{Reason: fmt.Sprintf("there is no engine %q", w.order.Engine)}
	}
	w.engine.Engine = e
	fetch, init := &fetchStep{workbench: w, withPlan: withPlan}, &initStep{workbench: w, withPlan: withPlan}
	return []step{
		{name: "fetch", run: fetch.fetch},
		{name: "engine", run: (&engineStep{w}).provideEngine, needed: func() bool { return !w.atHand() }},
		{name: "init", run: init.initialize},
	}, fetch, nil
}

// plan does the steps of an order to plan.
func (w *workbench) plan(ctx, podCtx context.Context) (done runnerapi.Done, err error) {
	prepare, fetch, err := w.preparation(false)
	if err != nil {
		return done, err
	}
	s := &planStep{workbench: w}
	state := step{name: "state", run: (&follower{workbench: w}).followBackend}.when(w.backend().Own())
	plan := step{name: "plan", run: func(ctx context.Context) (result, error) { return s.makePlan(ctx, fetch.journal) }}
	policy := step{name: "policy", run: s.checkPolicy}.when(w.order.Policy)
	w.expectSteps(prepare...)
	w.expectSteps(state, plan, policy, step{name: "outputs"}.when(w.order.Outputs))

	if err := w.sequence(ctx, prepare...); err != nil {
		return done, err
	}
	if err := w.sequence(ctx, state, plan); err != nil {
		return done, err
	}
	done.Plan, done.Settled = s.planned, s.settled
	if done.Plan.Changes {
		w.skip("outputs", "the plan has changes")
		return done, w.sequence(ctx, policy)
	}
	w.skip("policy", "the plan has no changes")
	if !w.order.Outputs {
		return done, nil
	}
	if !w.order.Destroy { // the state is the result of these inputs: a destroy uses them from now on
		if err := w.client.PutInputs(ctx, w.files.kept()); err != nil {
			return done, fmt.Errorf("keep the variable files: %w", err)
		}
	}
	done.Outputs, err = (&outputsStep{w}).stepOutputs(ctx, podCtx, nil)
	return done, err
}

// apply does the steps of an order to apply. What follows the engine has to be done even when the attempt has timed
// out: it runs on the pod's context, and outlives that too.
func (w *workbench) apply(ctx, podCtx context.Context, planned *ready) (done runnerapi.Done, err error) {
	var prepare []step
	if planned != nil && planned.digest == w.order.PlanDigest {
		w.setup = planned.setup
		w.proxy.ExpectPlanned(planned.state)
	} else if prepare, _, err = w.preparation(true); err != nil {
		return done, err
	}
	w.expectSteps(prepare...)
	w.expectSteps(step{name: "apply"}, step{name: "state"}.when(w.backend().Own()),
		step{name: "outputs"}.when(w.order.Outputs))

	if err := w.sequence(ctx, prepare...); err != nil {
		return done, err
	}
	if err := w.runHooks(ctx, "apply", before); err != nil {
		return done, err
	}
	journal := report.StartJournal(w.client, w.DisownedAfter, w.Log)
	defer journal.Abandon()
	state := &follower{workbench: w}
	s := &applyStep{workbench: w, journal: journal, state: state}
	err = w.step(ctx, "apply", s.applyPlan)
	done.Changed = s.changed
	unfollowed := state.followAfter(podCtx, err == nil)
	lost := (&rescuer{w}).rescue(podCtx)
	state.unlockState(podCtx)
	if done.Saved = s.saved(); !done.Saved {
		s.flush(podCtx)
	}
	if err := cmp.Or(lost, err, unfollowed); err != nil {
		return done, err
	}
	w.proxy.AllowWrites(false)
	err = w.runHooks(ctx, "apply", after)
	if !w.order.Outputs {
		return done, err
	}
	done.Outputs, err = (&outputsStep{w}).stepOutputs(ctx, podCtx, err)
	return done, err
}

// shell does the steps of an order for a shell.
func (w *workbench) shell(ctx, podCtx context.Context) error {
	prepare, _, err := w.preparation(false)
	if err != nil {
		return err
	}
	w.expectSteps(prepare...)
	w.expectSteps(step{name: "shell"}, step{name: "state"}.when(w.backend().Own()))

	if err := w.sequence(ctx, prepare...); err != nil {
		return err
	}
	if err := os.RemoveAll(w.erroredState()); err != nil {
		return err
	}
	env, err := w.shellEnvironment()
	if err != nil {
		return err
	}
	session, err := shell.Open(w.work, shell.Config{Dir: w.module(), Env: env})
	if err != nil {
		return err
	}
	defer session.Close()
	state, rescue := &follower{workbench: w}, &rescuer{w}
	if err := state.lockState(ctx); err != nil {
		return err
	}
	w.proxy.DenyLockAfterLoss(rescue.deniedInShell)
	w.proxy.AllowWrites(true) // until the end: what a killed engine sent may still arrive
	err = w.step(ctx, "shell", func(ctx context.Context) (result, error) {
		message, err := session.Wait(ctx, w.text)
		return result{message: message}, err
	})
	unfollowed := state.followAfter(podCtx, err == nil)
	lost := rescue.rescue(podCtx)
	state.unlockState(podCtx)
	return cmp.Or(lost, err, unfollowed)
}
