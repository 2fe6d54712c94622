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
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// aboutPlan is what hooks get to know of a plan.
type aboutPlan struct {
	runnerapi.Plan
	// counted: the numbers are known.
	counted bool
}

// planForms stores the forms of a plan that users, hooks and policies read.
type planForms struct{ *workbench }

// keepForms stores what users, hooks and policies read of the plan: the engine's JSON, if it has changes, on the
// server, which compares it with the plan file, and for hooks without secrets, with its text. A plan is valid without
// them, unless policies have to evaluate it. tooLarge: they cannot.
func (s *planForms) keepForms(ctx context.Context) (tooLarge bool, err error) {
	err = s.makeDocument(ctx)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case runnerapi.Code(err) == http.StatusUnprocessableEntity, runnerapi.Code(err) == http.StatusConflict:
		return false, &engine.Rejection{Code: runnerapi.ReasonPlanMismatch,
			Reason: fmt.Sprintf("the JSON of the plan, which users "+
				"and policies read, does not describe its plan file: code in this pod, such as a hook, may have "+
				"changed one of them: %v", err)}
	case errors.Is(err, errTooLarge), runnerapi.Code(err) == http.StatusRequestEntityTooLarge:
		tooLarge = true // which policies deny
	case err != nil && s.order.Policy:
		return false, fmt.Errorf("policies cannot see the plan: %w", err)
	}
	s.leftOut("JSON", err)
	if s.hasScripts() {
		s.leftOut("text", s.writeText())
	}
	return tooLarge, nil
}

// errTooLarge is no failure of the plan. Policies that cannot evaluate its JSON deny it.
var errTooLarge = fmt.Errorf("it has more than %d MiB", runnerapi.LargestPlanJSON>>20)

// hasScripts reports that hooks or commands may read the plan.
func (j *job) hasScripts() bool { return len(j.order.Hooks) > 0 || j.order.Command != "" }

// leftOut logs that there is no such form, if so.
func (j *job) leftOut(form string, err error) {
	if err != nil {
		fmt.Fprintf(j.text, "the plan's %s is not kept: %s\n", form, j.clean(err.Error()))
	}
}

// makeDocument has the engine print the plan's JSON, which needs a launch of its providers, and sends it to the server.
// What is marked as sensitive in it is a secret from then on.
func (s *planForms) makeDocument(ctx context.Context) error {
	if !s.about.Changes {
		return nil
	}
	args := s.engine.Args(engine.Show{Plan: s.work.Plan(), VariableFiles: s.files.paths()})
	answer := process.NewBuffer(runnerapi.LargestPlanJSON)
	ended, err := s.launch(ctx, call{Options: process.Options{Answer: answer}, args: args})
	if answer.Overflowed() { // the engine fails in turn
		return errTooLarge
	}
	if err != nil {
		return fmt.Errorf("show the plan: %w", err)
	}
	if ended.Code != 0 {
		return &programError{engine.Transient, ended.Explain(s.engine.Name(), engine.Events{}), ended.Code}
	}
	shown := answer.Bytes()
	if o := s.order.PlanOptions; o != nil && o.RefreshOnly {
		shown = withRefreshOnly(shown)
	}
	secrets, err := s.maskJSON(shown)
	if err == nil {
		err = s.writeDocument(secrets, shown)
	}
	if len(answer.Bytes()) > 1<<20 { // the engine's apply may need the memory next
		answer.Reset()
		debug.FreeOSMemory()
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(s.work.PlanDocument()) }()
	return s.keepDocument(ctx)
}

// withRefreshOnly returns the JSON of a plan with the member that has it show its drift as what the apply writes to the
// state. The server compares it with the plan file.
func withRefreshOnly(shown []byte) []byte {
	rest, ok := bytes.CutPrefix(shown, []byte("{"))
	if !ok {
		return shown // not the JSON of a plan, as the next step finds
	}
	return slices.Concat([]byte(`{"`+planfile.RefreshOnlyMember+`":true,`), rest)
}

// maskJSON returns which secrets are in the JSON of the plan besides those that are marked in it. Hooks get it without
// any.
func (s *planForms) maskJSON(shown []byte) (secrets []string, err error) {
	found := map[string]bool{}
	masked, err := plan.Mask(shown, func(text string) string {
		hidden, secrets := s.secrets.Find(text)
		for _, secret := range secrets {
			found[secret] = true
		}
		return hidden
	}, func(secret string) { s.secrets.Add(secret) })
	if err != nil {
		return nil, fmt.Errorf("read what %s shows of the plan: %w", s.engine.Name(), err)
	}
	if s.hasScripts() {
		err = os.WriteFile(s.work.PlanJSON(), masked, 0o600)
	}
	return slices.Sorted(maps.Keys(found)), err
}

// writeDocument writes the PlanDocument into the workspace.
func (s *planForms) writeDocument(secrets []string, shown []byte) error {
	list, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(s.work.PlanDocument(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.MultiReader(
		strings.NewReader(`{"secrets":`), bytes.NewReader(list), strings.NewReader(`,"plan":`), bytes.NewReader(shown),
		strings.NewReader("}"),
	))
	return errors.Join(err, file.Close())
}

// writeText writes the plan as text for hooks, if it can be read.
func (w *workbench) writeText() error {
	view, found, err := w.view()
	if err != nil || (!found && w.about.Changes) {
		return err
	}
	var text bytes.Buffer
	if err := plan.Text(&text, view); err != nil {
		return err
	}
	return os.WriteFile(w.work.PlanText(), text.Bytes(), 0o600)
}

// view returns the plan from its JSON in the workspace, if there is any.
func (w *workbench) view() (view plan.View, found bool, err error) {
	data, err := os.ReadFile(w.work.PlanJSON())
	if errors.Is(err, fs.ErrNotExist) {
		return view, false, nil
	}
	if err != nil {
		return view, false, err
	}
	view, err = plan.Parse(data)
	return view, err == nil, err
}

func (s *planForms) keepDocument(ctx context.Context) error {
	file, err := os.Open(s.work.PlanDocument())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return s.client.PutPlanDocument(ctx, s.about.Digest, file, info.Size())
}

// fetchJSON fetches the plan's JSON for the scripts of an apply in another pod than the plan's. One that the server
// rejects is left out: what was approved is the plan.
func (s *fetchStep) fetchJSON(ctx context.Context) error {
	file, err := os.OpenFile(s.work.PlanJSON(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = s.client.PlanJSON(ctx, s.order.PlanDigest, file)
	closed := file.Close()
	if code := runnerapi.Code(err); code >= 400 && code < 500 && code != http.StatusTooManyRequests {
		fmt.Fprintf(s.text, "the plan's JSON is left out: %s\n", s.clean(err.Error()))
		return errors.Join(closed, os.Remove(file.Name()))
	}
	if err := errors.Join(err, closed); err != nil {
		return fmt.Errorf("fetch the plan's JSON: %w", err)
	}
	return nil
}

// fetchedPlan returns what is known of another pod's plan.
func (s *fetchStep) fetchedPlan() *aboutPlan {
	about := &aboutPlan{}
	if view, found, err := s.view(); err == nil && found {
		changes := make(engine.Changes, len(view.Changes))
		for i, c := range view.Changes {
			changes[i] = engine.ResourceChange{Action: engine.Action(c.Action), Imported: c.Importing != ""}
		}
		about.Plan, about.counted = countsOf(changes), true
	}
	about.Digest, about.Changes = s.order.PlanDigest, true
	return about
}
