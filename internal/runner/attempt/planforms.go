package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"runtime/debug"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/plan"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// aboutPlan is what hooks get to know of a plan.
type aboutPlan struct {
	runnerapi.Plan
	// counted: the numbers are known.
	counted bool
}

// keepForms stores what users, hooks and policies read of the plan: the engine's text and, of a plan that has changes,
// its JSON. Neither has secrets. A plan is valid without them, unless policies have to evaluate it.
func (a *attempt) keepForms(ctx context.Context, said *capture) error {
	err := a.makeJSON(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && a.order.Policy:
		return fmt.Errorf("policies cannot see the plan: %w", err)
	}
	a.leftOut("JSON", err)
	if !a.about.Changes && len(a.order.Hooks) == 0 {
		return nil
	}
	err = a.makeText(ctx, said)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a.leftOut("text", err)
	return nil
}

// leftOut logs that there is no such form, if so.
func (a *attempt) leftOut(form string, err error) {
	if err != nil {
		fmt.Fprintf(a.text, "the plan's %s is not kept: %s\n", form, a.clean(err.Error()))
	}
}

// makeJSON has the engine print the plan's JSON, which needs a launch of its providers, removes the secrets, and stores
// it. What is marked as sensitive in it is a secret from then on.
func (a *attempt) makeJSON(ctx context.Context) error {
	if !a.about.Changes {
		return nil
	}
	args := a.engine.Args(engine.Show{Plan: a.work.Plan(), VariableFiles: a.files.paths()})
	answer := process.NewBuffer(runnerapi.LargestPlanJSON)
	ended, err := a.launch(ctx, call{Options: process.Options{Answer: answer}, args: args})
	if answer.Overflowed() { // the engine fails in turn
		return a.jsonTooLarge()
	}
	if err != nil {
		return fmt.Errorf("show the plan: %w", err)
	}
	if ended.Code != 0 {
		return &programError{engine.Transient, ended.Explain(a.engine.Name(), engine.Events{}), ended.Code}
	}
	masked, err := plan.Mask(answer.Bytes(), a.secrets.String, func(secret string) { a.secrets.Add(secret) })
	if err != nil {
		return fmt.Errorf("read what %s shows of the plan: %w", a.engine.Name(), err)
	}
	if len(masked) > runnerapi.LargestPlanJSON {
		return a.jsonTooLarge()
	}
	if len(answer.Bytes()) > 1<<20 { // the engine's apply may need the memory next
		answer.Reset()
		debug.FreeOSMemory()
	}
	if err := os.WriteFile(a.work.PlanJSON(), masked, 0o600); err != nil {
		return err
	}
	return a.keepForm(ctx, runnerapi.PlanJSON, a.work.PlanJSON())
}

// jsonTooLarge is no failure of the plan. Policies that cannot evaluate it deny it.
func (a *attempt) jsonTooLarge() error {
	a.tooLarge = true
	a.leftOut("JSON", fmt.Errorf("it has more than %d MiB", runnerapi.LargestPlanJSON>>20))
	return nil
}

// makeText stores the engine's own text of the plan: what it printed or, where that is events, the text of its
// JSON.
func (a *attempt) makeText(ctx context.Context, said *capture) error {
	if err := a.writeText(said); err != nil {
		return errors.Join(err, os.RemoveAll(a.work.PlanText()))
	}
	if !a.about.Changes {
		return nil
	}
	return a.keepForm(ctx, runnerapi.PlanText, a.work.PlanText())
}

func (a *attempt) writeText(said *capture) error {
	file, err := os.OpenFile(a.work.PlanText(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // closed below; this is for what goes wrong before
	bounded := &capture{to: file, left: runnerapi.LargestPlanText}
	clean := a.secrets.Writer(bounded)
	if err := errors.Join(a.sayPlan(clean, said), clean.Close()); err != nil {
		return err
	}
	return bounded.close()
}

func (a *attempt) sayPlan(to io.Writer, said *capture) error {
	if a.engine.PrintsEvents(engine.StepPlan) {
		view, found, err := a.view()
		if err != nil {
			return err
		}
		if found {
			return plan.Text(to, view)
		}
	}
	return said.copy(to)
}

// view returns the plan from its JSON in the workspace, if there is any.
func (a *attempt) view() (view plan.View, found bool, err error) {
	data, err := os.ReadFile(a.work.PlanJSON())
	if errors.Is(err, fs.ErrNotExist) {
		return view, false, nil
	}
	if err != nil {
		return view, false, err
	}
	view, err = plan.Parse(data)
	return view, err == nil, err
}

func (a *attempt) keepForm(ctx context.Context, form, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return a.client.KeepPlanForm(ctx, a.about.Digest, form, file, info.Size())
}

// fetchForms fetches the forms of the plan for the scripts of an apply in another pod than the plan's. One that the
// server rejects is left out: what was approved is the plan.
func (a *attempt) fetchForms(ctx context.Context) error {
	for _, form := range []struct {
		name, path string
		limit      int64
	}{{runnerapi.PlanJSON, a.work.PlanJSON(), runnerapi.LargestPlanJSON}, {runnerapi.PlanText, a.work.PlanText(), runnerapi.LargestPlanText}} {
		file, err := os.OpenFile(form.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		err = a.client.PlanForm(ctx, a.order.PlanDigest, form.name, file, form.limit)
		closed := file.Close()
		if refused := runnerapi.Code(err); refused >= 400 && refused < 500 && refused != http.StatusTooManyRequests {
			fmt.Fprintf(a.text, "the plan's %s is left out: %s\n", form.name, a.clean(err.Error()))
			err, closed = nil, os.Remove(form.path)
		}
		if err := errors.Join(err, closed); err != nil {
			return fmt.Errorf("fetch the plan's %s: %w", form.name, err)
		}
	}
	return nil
}

// fetchedPlan returns what is known of another pod's plan.
func (a *attempt) fetchedPlan() *aboutPlan {
	about := &aboutPlan{Plan: runnerapi.Plan{Digest: a.order.PlanDigest, Changes: true}}
	view, found, err := a.view()
	if err != nil || !found {
		return about
	}
	about.counted = true
	for _, change := range view.Changes {
		switch change.Action {
		case plan.Create:
			about.Add++
		case plan.Update:
			about.Change++
		case plan.Delete:
			about.Destroy++
		case plan.Replace:
			about.Add++
			about.Destroy++
			about.Replace++
		case plan.Import:
			about.Import++
		case plan.Forget:
			about.Forget++
		}
	}
	return about
}

// capture keeps what is written to it in a file, as long as it is not too much.
type capture struct {
	to   *os.File
	left int
	err  error
}

// startCapture keeps what a program prints, at most as much as a plan's text may have.
func startCapture(path string) (*capture, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &capture{to: file, left: runnerapi.LargestPlanText}, nil
}

// Write never fails: the program must not notice.
func (c *capture) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 && c.err == nil {
		c.err = fmt.Errorf("it has more than %d MiB", runnerapi.LargestPlanText>>20)
	}
	if c.err == nil {
		_, c.err = c.to.Write(p)
	}
	return len(p), nil
}

// copy writes what was kept, if that is all.
func (c *capture) copy(to io.Writer) error {
	if c.err != nil {
		return c.err
	}
	if _, err := c.to.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(to, c.to)
	return err
}

// close closes the file, and reports whether all was kept.
func (c *capture) close() error { return errors.Join(c.err, c.to.Close()) }

// remove closes and removes the file.
func (c *capture) remove() {
	if c == nil {
		return
	}
	_ = c.to.Close()
	_ = os.Remove(c.to.Name())
}
