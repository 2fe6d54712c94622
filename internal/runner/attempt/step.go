package attempt

import (
	"context"
	"fmt"

	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// result is what a step that succeeded reports.
type result struct {
	message  string
	exitCode *int32
}

// counted is a number and its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// around does a step with the hooks before and after it.
func (a *attempt) around(ctx context.Context, name string, do func(context.Context) (result, error)) error {
	if err := a.runHooks(ctx, name, before); err != nil {
		return err
	}
	if err := a.step(ctx, name, do); err != nil {
		return err
	}
	return a.runHooks(ctx, name, after)
}

// step does a step, and reports its beginning and its end.
func (a *attempt) step(ctx context.Context, name string, do func(context.Context) (result, error)) error {
	if err := ctx.Err(); err != nil {
		return &failedStep{why: *a.failure(ctx, err)}
	}
	a.report.Begin(name)
	fmt.Fprintf(a.text, "── %s ──\n", name)
	res, err := do(ctx)
	if err == nil {
		a.report.End(runnerapi.Step{State: report.Succeeded, ExitCode: res.exitCode, Message: a.clean(res.message)})
		return nil
	}
	why := a.failure(ctx, err)
	if exitCode(err) == nil { // what a program printed is in the log already
		fmt.Fprintf(a.text, "%s: %s\n", name, why.Message)
	}
	a.report.End(runnerapi.Step{State: report.Failed, ExitCode: exitCode(err), Message: why.Message})
	return &failedStep{name, *why}
}

// expect reports which steps there will be, with the hooks around them.
func (a *attempt) expect(steps ...string) {
	var names []string
	for _, step := range steps {
		names = append(names, a.withHooks(step)...)
	}
	a.report.Expect(names)
}

// skip reports why a step, and the hooks around it, are not needed.
func (a *attempt) skip(step, why string) { a.report.Skip(why, a.withHooks(step)...) }

// failedStep is why a step failed, ready to be reported.
type failedStep struct {
	// name of the step; empty when the attempt was over before it began.
	name string
	why  runnerapi.Failure
}

func (f *failedStep) Error() string { return f.why.Message }
