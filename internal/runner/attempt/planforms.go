package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// aboutPlan is what hooks get to know of a plan.
type aboutPlan struct {
	runnerapi.Plan
	// counted: the numbers are known.
	counted bool
}

// keepForms stores what users, hooks and policies read of the plan: the engine's JSON, if it has changes, on the server, which
// compares it with the plan file, and for hooks without secrets, with its text. A plan is valid without them, unless policies have to
// evaluate it.
func (a *attempt) keepForms(ctx context.Context) error {
	err := a.makeDocument(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case runnerapi.Code(err) == http.StatusUnprocessableEntity, runnerapi.Code(err) == http.StatusConflict:
		return &engine.Rejection{Code: runnerapi.ReasonPlanMismatch, Reason: fmt.Sprintf("the JSON of the plan, which users "+
			"and policies read, does not describe its plan file: code in this pod, such as a hook, changed one of them: %v", err)}
	case runnerapi.Code(err) == http.StatusRequestEntityTooLarge:
		a.tooLarge = true // which policies deny
	case err != nil && a.order.Policy:
		return fmt.Errorf("policies cannot see the plan: %w", err)
	}
	a.leftOut("JSON", err)
	if a.hasScripts() {
		a.leftOut("text", a.writeText())
	}
	return nil
}

// hasScripts reports that hooks or commands may read the plan.
func (a *attempt) hasScripts() bool { return len(a.order.Hooks) > 0 || a.order.Command != "" }

// leftOut logs that there is no such form, if so.
func (a *attempt) leftOut(form string, err error) {
	if err != nil {
		fmt.Fprintf(a.text, "the plan's %s is not kept: %s\n", form, a.clean(err.Error()))
	}
}

// makeDocument has the engine print the plan's JSON, which needs a launch of its providers, and sends it to the server. What is marked as
// sensitive in it is a secret from then on.
func (a *attempt) makeDocument(ctx context.Context) error {
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
	secrets, err := a.maskJSON(answer.Bytes())
	if err == nil {
		err = a.writeDocument(secrets, answer.Bytes())
	}
	if len(answer.Bytes()) > 1<<20 { // the engine's apply may need the memory next
		answer.Reset()
		debug.FreeOSMemory()
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(a.work.PlanDocument()) }()
	return a.keepDocument(ctx)
}

// maskJSON returns which secrets are in the JSON of the plan besides those that are marked in it. Hooks get it without any.
func (a *attempt) maskJSON(shown []byte) (secrets []string, err error) {
	found := map[string]bool{}
	masked, err := plan.Mask(shown, func(text string) string {
		hidden, secrets := a.secrets.Find(text)
		for _, secret := range secrets {
			found[secret] = true
		}
		return hidden
	}, func(secret string) { a.secrets.Add(secret) })
	if err != nil {
		return nil, fmt.Errorf("read what %s shows of the plan: %w", a.engine.Name(), err)
	}
	if a.hasScripts() {
		err = os.WriteFile(a.work.PlanJSON(), masked, 0o600)
	}
	return slices.Sorted(maps.Keys(found)), err
}

// writeDocument writes the PlanDocument into the workspace.
func (a *attempt) writeDocument(secrets []string, shown []byte) error {
	list, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(a.work.PlanDocument(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.MultiReader(
		strings.NewReader(`{"secrets":`), bytes.NewReader(list), strings.NewReader(`,"plan":`), bytes.NewReader(shown), strings.NewReader("}"),
	))
	return errors.Join(err, file.Close())
}

// jsonTooLarge is no failure of the plan. Policies that cannot evaluate it deny it.
func (a *attempt) jsonTooLarge() error {
	a.tooLarge = true
	a.leftOut("JSON", fmt.Errorf("it has more than %d MiB", runnerapi.LargestPlanJSON>>20))
	return nil
}

// writeText writes the plan as text for hooks, if it can be read.
func (a *attempt) writeText() error {
	view, found, err := a.view()
	if err != nil || (!found && a.about.Changes) {
		return err
	}
	var text bytes.Buffer
	if err := plan.Text(&text, view); err != nil {
		return err
	}
	return os.WriteFile(a.work.PlanText(), text.Bytes(), 0o600)
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

func (a *attempt) keepDocument(ctx context.Context) error {
	file, err := os.Open(a.work.PlanDocument())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return a.client.PutPlanDocument(ctx, a.about.Digest, file, info.Size())
}

// fetchJSON fetches the plan's JSON for the scripts of an apply in another pod than the plan's. One that the server
// rejects is left out: what was approved is the plan.
func (a *attempt) fetchJSON(ctx context.Context) error {
	file, err := os.OpenFile(a.work.PlanJSON(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = a.client.PlanJSON(ctx, a.order.PlanDigest, file)
	closed := file.Close()
	if code := runnerapi.Code(err); code >= 400 && code < 500 && code != http.StatusTooManyRequests {
		fmt.Fprintf(a.text, "the plan's JSON is left out: %s\n", a.clean(err.Error()))
		return errors.Join(closed, os.Remove(file.Name()))
	}
	if err := errors.Join(err, closed); err != nil {
		return fmt.Errorf("fetch the plan's JSON: %w", err)
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
	changes := make(engine.Changes, len(view.Changes))
	for i, c := range view.Changes {
		changes[i] = engine.ResourceChange{Action: engine.Action(c.Action), Imported: c.Importing != ""}
	}
	n := changes.Counts()
	about.Add, about.Change, about.Destroy, about.Replace = n.Add, n.Change, n.Destroy, n.Replace
	about.Import, about.Forget, about.Invoke = n.Import, n.Forget, n.Invoke
	return about
}
