package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// attempt is the doing of one order.
type attempt struct {
	*runner
	order store.Order
	// client speaks for this attempt.
	client *store.Client
	// text is the attempt's log, in the pod and in the store. What may hold a secret goes through the redactor first.
	text io.Writer
	// report tells the store of each step.
	report *reporter
	// progress tells of downloads.
	progress *sayer
	// proxy is the state's way to the store.
	proxy *proxy
	// engine is what does the work.
	engine tool
	// files are the variable files that the engine gets.
	files variableFiles
	// outputs that may be shown.
	outputs map[string]json.RawMessage
	// planned is what the plan is, once it is kept.
	planned *store.Plan
	// about is what hooks are told of the plan, once there is one.
	about *aboutPlan
	// tooLarge says that the plan's JSON is larger than may be kept.
	tooLarge bool
	// fetched says that the code is this attempt's.
	fetched bool
	// built is the digest of the image that was built.
	built string
	// changed is how many resources an apply changed, once it was begun.
	changed *int32
	// allSaved says that the state has all that an apply did.
	allSaved bool
	// inCode is the code's own backend block, where spec.backend is for code without one; nil while there is none.
	inCode *engine.OwnBackend
	// backendType is the type of the backend, once the engine was initialized.
	backendType string
	// held is the lock that the runner holds at the store while the engine has its own at its backend; nil when it holds none.
	held []byte
	// exited is the code of an apply that came to its end, and followed says that a new state was read from the engine's own backend after it.
	exited   *int32
	followed bool
	// journaled is what earlier applies have done, as far as the state may not have it.
	journaled []engine.Done
	// journalEnd names the end of that, and settled says that a plan found nothing in it that the state does not have.
	journalEnd string
	settled    bool
}

// lastPatience is how long each request to the store may still take once the runner is told to stop: the grace period
// of a pod ends at some time, and what was not sent by then is lost.
const lastPatience = time.Minute

// logPatience is how long the end of an attempt waits for the rest of its log: first before the report, because the
// store takes no more of it once the next attempt has begun, and then after it.
const (
	logPatience     = 2 * time.Second
	logLastPatience = 10 * time.Second
)

// attempt does an order and reports how it went.
func (r *runner) attempt(ctx context.Context, order store.Order) error {
	client := r.client.For(order.Attempt, order.Patience)
	log := startLog(client.AppendLog, r.Log)
	defer log.abandon()
	a := &attempt{
		runner: r, order: order, client: client,
		text:   tee{r.Output, log},
		report: startReporter(client, r.Log),
	}
	a.progress = &sayer{a: a}
	failure := a.do(ctx)
	done := store.Done{Failure: failure, Outputs: a.outputs, Image: a.built}
	if failure == nil || failure.Class == policy { // a plan that is denied can still be read
		done.Plan = a.planned
	}
	if failure != nil {
		done.Changed = a.changed
	}
	done.Saved = a.allSaved
	if done.Plan != nil && a.settled {
		done.Settled = a.journalEnd
	}
	log.end(logPatience)
	err := a.finish(ctx, done)
	log.end(logLastPatience)
	if err != nil && failure != nil && failure.Class == stranded {
		return errors.Join(ErrStranded, err)
	}
	return err
}

// do does the order's steps until one fails, or until somebody cancels.
func (a *attempt) do(process context.Context) *store.Failure {
	ctx, stop := context.WithCancelCause(process)
	defer stop(nil)
	if a.order.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.order.Timeout, fmt.Errorf("timed out after %s", short(a.order.Timeout)))
		defer cancel()
	}
	a.learn()
	defer a.heed(ctx, stop)()
	err := a.steps(ctx, process)
	var failed *failedStep
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		failed = &failedStep{why: *a.failure(ctx, err)}
	}
	if why := failed.why.Message; ctx.Err() != nil || failed.name == "" {
		a.report.skip(why)
	} else {
		a.report.skip(failed.name + " failed")
	}
	return &failed.why
}

// steps does the order's steps with the way to the state open.
func (a *attempt) steps(ctx, process context.Context) error {
	if a.order.Kind == store.OrderBuild {
		return a.build(ctx)
	}
	proxy, err := startProxy(process, a.client, a.secrets, a.Log)
	if err != nil {
		return err
	}
	defer proxy.close()
	a.proxy = proxy
	switch a.order.Kind {
	case store.OrderApply:
		return a.apply(ctx, process)
	case store.OrderShell:
		return a.keepShell(ctx, process)
	}
	return a.plan(ctx, process)
}

// finish sends the last report. It outlives an interrupt.
func (a *attempt) finish(ctx context.Context, done store.Done) error {
	ctx, cancel := outlive(ctx)
	defer cancel()
	return a.report.finish(ctx, done)
}

// plan does the steps of an order to plan.
func (a *attempt) plan(ctx, process context.Context) error {
	steps, err := a.choose()
	if err != nil {
		return err
	}
	if a.backend().Own() {
		steps = append(steps, "state")
	}
	steps = append(steps, "plan")
	if a.order.Policy {
		steps = append(steps, "policy")
	}
	if a.order.Outputs {
		steps = append(steps, "outputs")
	}
	a.expect(steps...)
	if err := a.prepare(ctx, false); err != nil {
		return err
	}
	if a.backend().Own() {
		if err := a.step(ctx, "state", a.followBackend); err != nil {
			return err
		}
	}
	if err := a.around(ctx, "plan", a.makePlan); err != nil {
		return err
	}
	if a.planned.Changes {
		a.skip("outputs", "the plan has changes")
		if !a.order.Policy {
			return nil
		}
		return a.around(ctx, "policy", a.checkPolicy)
	}
	a.skip("policy", "the plan has no changes")
	if !a.order.Outputs {
		return nil
	}
	if !a.order.Destroy { // what is there is what these inputs make: from now on they are what a destroy takes
		if err := a.client.PutInputs(ctx, a.files.kept()); err != nil {
			return fmt.Errorf("keep the variable files: %w", err)
		}
	}
	return a.stepOutputs(ctx, process, nil)
}

// apply does the steps of an order to apply. What follows the engine has to be done even when the attempt's time is
// over: it runs on the process's context, and outlives that too.
func (a *attempt) apply(ctx, process context.Context) error {
	steps := []string{"apply"}
	if a.backend().Own() {
		steps = append(steps, "state")
	}
	if a.order.Outputs {
		steps = append(steps, "outputs")
	}
	if a.ready != nil && a.ready.digest == a.order.PlanDigest {
		a.files, a.engine, a.about, a.fetched, a.backendType = a.ready.files, a.ready.engine, a.ready.about, true, a.ready.backendType
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
	journal := a.startJournal()
	defer journal.abandon()
	err := a.step(ctx, "apply", func(ctx context.Context) (result, error) { return a.applyPlan(ctx, journal) })
	unfollowed := a.followAfter(process, err == nil)
	lost := a.rescue(process)
	a.unlockState(process)
	if a.allSaved = a.saved(); !a.allSaved {
		a.flush(process, journal)
	}
	if lost != nil {
		return lost
	}
	if err != nil {
		return err
	}
	if unfollowed != nil {
		return unfollowed
	}
	a.proxy.open(false)
	err = a.runHooks(ctx, "apply", after)
	if !a.order.Outputs {
		return err
	}
	return a.stepOutputs(ctx, process, err)
}

// choose takes the engine that the order names, and gives the steps that make the workspace ready for it.
func (a *attempt) choose() (steps []string, err error) {
	a.ready = nil
	if a.engine.Engine, err = a.chosen(); err != nil {
		return nil, err
	}
	if a.atHand() {
		return []string{"fetch", "init"}, nil
	}
	return []string{"fetch", "engine", "init"}, nil
}

// prepare makes the workspace ready for the engine, with a saved plan in it or without.
func (a *attempt) prepare(ctx context.Context, withPlan bool) error {
	fetch := func(ctx context.Context) (result, error) { return a.fetch(ctx, withPlan) }
	if err := a.around(ctx, "fetch", fetch); err != nil {
		return err
	}
	if !a.atHand() {
		if err := a.around(ctx, "engine", a.provideEngine); err != nil {
			return err
		}
	}
	init := func(ctx context.Context) (result, error) { return a.initialize(ctx, withPlan) }
	return a.around(ctx, "init", init)
}

// short writes a duration as people do: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// outlive gives a context that is over lastPatience after ctx is, or that long after now if ctx is over already.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lastPatience, cancel)
		context.AfterFunc(after, func() { timer.Stop() })
	})
	return after, func() { stop(); cancel() }
}
