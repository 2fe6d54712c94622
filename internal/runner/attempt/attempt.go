package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/providermirror"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runner/stateproxy"
	"cairn.dev/cairn/internal/runnerapi"
)

// attempt is the execution of one order.
type attempt struct {
	*Executor
	order runnerapi.Order
	// client sends this attempt's requests.
	client *runnerapi.Client
	// text is the attempt's log, in the pod and on the server. What may hold a secret goes through the redactor first.
	text io.Writer
	// operations reports what an apply does to each resource.
	operations *report.Operations
	// report reports each step.
	report *report.Reporter
	// progress reports downloads.
	progress progress
	// proxy serves the state to the engine, and mirror the providers, during an init that needs it. nil otherwise.
	proxy  *stateproxy.Proxy
	mirror *providermirror.Mirror
	// engine is what does the work.
	engine tool
	// files are the variable files that the engine gets.
	files variableFiles
	// fetched: the code is this attempt's.
	fetched bool
	// inCode is the code's own backend block, where spec.backend is for code without one; nil while there is none.
	inCode *engine.OwnBackend
	// backendType is the type of the backend, once the engine was initialized.
	backendType string
	// lock is the one that the runner holds on the server while the engine has its own at its backend; nil when it
	// holds none.
	lock []byte

	// planned is the plan, once it is stored, and about what hooks get to know of it.
	planned *runnerapi.Plan
	about   *aboutPlan
	// tooLarge: the plan's JSON is too large to be stored.
	tooLarge bool
	// journal is what earlier applies have done that the state may not have, and journalEnd the name of its end.
	journal    []engine.Done
	journalEnd string
	// settled: a plan found nothing in the journal that the state does not have.
	settled bool

	// changed is how many resources an apply changed, once it was begun.
	changed *int32
	// reachedEnd: the engine of an apply has reported how that ended, and followed: a new state was read from the
	// engine's own backend after it.
	reachedEnd bool
	followed   bool
	// allSaved: the state has all that an apply did.
	allSaved bool
	// outputs that may be shown.
	outputs map[string]json.RawMessage
	// built is the digest of the image that was built.
	built string
}

// do does the order's steps until one fails, or until a user cancels.
func (a *attempt) do(podCtx context.Context) *runnerapi.Failure {
	ctx, stop := context.WithCancelCause(podCtx)
	defer stop(nil)
	if a.order.Timeout > 0 {
		var cancel context.CancelFunc
		timeout := fmt.Errorf("timed out after %s", report.Duration(a.order.Timeout))
		ctx, cancel = context.WithTimeoutCause(ctx, a.order.Timeout, timeout)
		defer cancel()
	}
	a.learn()
	watcher := interrupt.Watcher{Client: a.client, Log: a.Log, Clean: a.clean, DisownedAfter: a.DisownedAfter}
	defer watcher.Start(ctx, stop)()
	err := a.steps(ctx, podCtx)
	var failed *failedStep
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		failed = &failedStep{why: *a.failure(ctx, err)}
	}
	if why := failed.why.Message; ctx.Err() != nil || failed.name == "" {
		a.report.Skip(why)
	} else {
		a.report.Skip(failed.name + " failed")
	}
	return &failed.why
}

// steps does the order's steps. ctx is over when the attempt is to end, podCtx only when the runner is to stop.
func (a *attempt) steps(ctx, podCtx context.Context) error {
	if a.order.Kind == runnerapi.OrderBuild {
		return a.build(ctx)
	}
	proxy, err := stateproxy.Start(podCtx, a.client, a.secrets, a.Log)
	if err != nil {
		return err
	}
	defer proxy.Close()
	a.proxy = proxy
	switch a.order.Kind {
	case runnerapi.OrderApply:
		return a.apply(ctx, podCtx)
	case runnerapi.OrderShell:
		return a.shell(ctx, podCtx)
	}
	return a.plan(ctx, podCtx)
}

// choose selects the engine that the order names, and returns the steps that prepare the workspace for it.
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

// prepare prepares the workspace for the engine, with a saved plan in it or without.
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
