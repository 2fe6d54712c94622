package attempt

import (
	"context"
	"fmt"

	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// step of an order, with the hooks before and after it.
type step struct {
	name string
	run  func(context.Context) (result, error)
	// needed reports whether the order has it; nil when it does.
	needed func() bool
}

// when has the order include the step only under a condition.
func (s step) when(needed bool) step {
	s.needed = func() bool { return needed }
	return s
}

// result is what a step that succeeded reports.
type result struct {
	message  string
	exitCode *int32
}

// step does a step, and reports its beginning and its end. note is added to a message about the code; nil for none.
func (j *job) step(
	ctx context.Context, name string, do func(context.Context) (result, error), note func() string,
) error {
	if err := ctx.Err(); err != nil {
		return &failedStep{why: *j.failure(ctx, err, note)}
	}
	j.report.Begin(name)
	fmt.Fprintf(j.text, "── %s ──\n", name)
	res, err := do(ctx)
	if err == nil {
		j.report.End(runnerapi.Step{State: report.Succeeded, ExitCode: res.exitCode, Message: j.clean(res.message)})
		return nil
	}
	why := j.failure(ctx, err, note)
	if exitCode(err) == nil { // what a program printed is in the log already
		fmt.Fprintf(j.text, "%s: %s\n", name, why.Message)
	}
	j.report.End(runnerapi.Step{State: report.Failed, ExitCode: exitCode(err), Message: why.Message})
	return &failedStep{name, *why}
}

// expect reports which steps there will be, with the hooks around them.
func (j *job) expect(steps ...string) {
	var names []string
	for _, step := range steps {
		names = append(names, j.withHooks(step)...)
	}
	j.report.Expect(names)
}

// skip reports why a step, and the hooks around it, are not needed.
func (j *job) skip(step, why string) { j.report.Skip(why, j.withHooks(step)...) }

// failedStep is why a step failed, ready to be reported.
type failedStep struct {
	// name of the step; empty when the attempt was over before it began.
	name string
	why  runnerapi.Failure
}

func (f *failedStep) Error() string { return f.why.Message }
