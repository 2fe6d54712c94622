package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// job is what all steps of an order share. None of it changes while they run, but for what was reported of downloads.
type job struct {
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
}

// do does the order's steps until one fails, or until a user cancels, and returns the last report.
func (j *job) do(podCtx context.Context) runnerapi.Done {
	ctx, stop := context.WithCancelCause(podCtx)
	defer stop(nil)
	if j.order.Timeout > 0 {
		var cancel context.CancelFunc
		timeout := fmt.Errorf("timed out after %s", shorten.Duration(j.order.Timeout))
		ctx, cancel = context.WithTimeoutCause(ctx, j.order.Timeout, timeout)
		defer cancel()
	}
	j.learn()
	watcher := interrupt.Watcher{Client: j.client, Log: j.Log, Clean: j.clean, DisownedAfter: j.DisownedAfter}
	defer watcher.Start(ctx, stop)()
	done, err := j.execute(ctx, podCtx)
	var failed *failedStep
	switch {
	case err == nil:
		return lastReport(done, nil)
	case !errors.As(err, &failed):
		failed = &failedStep{why: *j.failure(ctx, err, nil)}
	}
	if why := failed.why.Message; ctx.Err() != nil || failed.name == "" {
		j.report.Skip(why)
	} else {
		j.report.Skip(failed.name + " failed")
	}
	return lastReport(done, &failed.why)
}

// lastReport is the report of what the steps learned, and of the failure of one; nil when none failed.
func lastReport(done runnerapi.Done, failure *runnerapi.Failure) runnerapi.Done {
	done.Failure = failure
	if failure == nil {
		done.Changed = nil
	} else if failure.Class != policy { // a plan that is denied can still be read
		done.Plan, done.Settled = nil, ""
	}
	return done
}
