package runner

import (
	"context"
	"fmt"

	"cairn.dev/cairn/internal/store"
)

// result is what a step has to say when it went well.
type result struct {
	message  string
	exitCode *int32
}

// step does one thing and reports its beginning and its end.
func (a *attempt) step(ctx context.Context, name string, do func(context.Context) (result, error)) error {
	if err := ctx.Err(); err != nil {
		return &failedStep{*a.failure(ctx, err)}
	}
	a.report.begin(name)
	fmt.Fprintf(a.text, "── %s ──\n", name)
	res, err := do(ctx)
	if err == nil {
		a.report.end(store.Step{State: "Succeeded", ExitCode: res.exitCode, Message: a.clean(res.message)})
		return nil
	}
	failed := a.failure(ctx, err)
	if exitCode(err) == nil { // what the engine has to say is in the log already
		fmt.Fprintf(a.text, "%s: %s\n", name, failed.Message)
	}
	a.report.end(store.Step{State: "Failed", ExitCode: exitCode(err), Message: failed.Message})
	return &failedStep{*failed}
}

// failedStep is why a step failed, ready to be told.
type failedStep struct{ why store.Failure }

func (f *failedStep) Error() string { return f.why.Message }
