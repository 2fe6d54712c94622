package attempt

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// plan does the steps of an order to plan.
func (a *attempt) plan(ctx, podCtx context.Context) error {
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
	if !a.order.Destroy { // the state is the result of these inputs: a destroy uses them from now on
		if err := a.client.PutInputs(ctx, a.files.kept()); err != nil {
			return fmt.Errorf("keep the variable files: %w", err)
		}
	}
	return a.stepOutputs(ctx, podCtx, nil)
}

// mostResources is how many changes of a plan are reported; the counts count all.
const mostResources = 100

// makePlan plans, and stores the plan on the server.
func (a *attempt) makePlan(ctx context.Context) (result, error) {
	args := a.engine.Args(engine.Plan{
		Events: a.work.Events(), VariableFiles: a.files.paths(), Out: a.work.Plan(), Destroy: a.order.Destroy,
	})
	var code int32
	var events engine.Events
	recovered, err := a.recover(ctx, func() (err error) {
		code, events, err = a.run(ctx, engine.StepPlan, call{args: args}, engine.PlanChanges)
		return err
	})
	if err != nil {
		return result{}, err
	}
	if err := recovered.Plan(ctx); err != nil {
		return result{}, err
	}
	if !events.Planned { // the engine writes the plan first, and ignores that it cannot write an event
		return result{}, fmt.Errorf("%s planned, and its events do not have the whole plan: the disk of the pod may be full",
			a.engine.Name())
	}
	if err := a.checkDeclared(events.Undeclared); err != nil {
		return result{}, err
	}
	plan := a.describe(events.Changes)
	recovered.CheckImported(events.Imported)
	a.checkScript(recovered)
	plan.Untracked = recovered.Orphans()
	plan.Script = a.order.Command != ""
	plan.Changes = events.HasChanges(code)
	why := ""
	if !plan.Changes {
		if why, err = a.writesState(ctx); err != nil {
			return result{}, err
		}
		plan.StateOnly = why != ""
		plan.Changes = plan.StateOnly
	}
	a.settled = recovered.Settled(plan.Changes)
	if a.engine.version == "" {
		a.engine.version = events.Version
	}
	plan.EngineVersion = a.engine.version
	if under := a.engine.under; under != nil { // the events are those of what it runs
		plan.Wrapped = &runnerapi.WrappedEngine{Name: under.Name(), Version: events.Version}
	}
	if plan.Digest, err = a.keepPlan(ctx); err != nil {
		return result{}, err
	}
	a.about = &aboutPlan{Plan: *plan, counted: true}
	if err := a.keepForms(ctx); err != nil {
		return result{}, err
	}
	a.planned = plan
	a.ready = &ready{
		digest: plan.Digest, files: a.files, engine: a.engine, about: a.about, backendType: a.backendType,
		state: a.proxy.Planned(),
	}
	message := events.Changes.String()
	switch {
	case !plan.Changes:
		message = "no changes"
	case plan.StateOnly:
		message = runnerapi.OnlyState + ": " + why
	case message == "":
		message = "only outputs change"
	}
	if n := len(plan.Untracked); n > 0 {
		message += fmt.Sprintf("; %d resources of the journal could not be taken into the state", n)
	}
	return result{message: message, exitCode: &code}, nil
}

func (a *attempt) describe(changes engine.Changes) *runnerapi.Plan {
	n := changes.Counts()
	described := &runnerapi.Plan{Add: n.Add, Change: n.Change, Destroy: n.Destroy, Replace: n.Replace, Import: n.Import, Forget: n.Forget, Invoke: n.Invoke}
	secrets := map[string]bool{}
	for _, c := range changes[:min(len(changes), mostResources)] {
		described.Resources = append(described.Resources, runnerapi.ResourceChange{Address: a.clean(c.Address), Action: string(c.Action)})
		plan.HideKeys(c.Address, func(key string) string {
			hidden, found := a.secrets.Find(key)
			for _, secret := range found {
				secrets[secret] = true
			}
			return hidden
		})
	}
	described.Secrets = slices.Sorted(maps.Keys(secrets))
	return described
}

// keepPlan sends the plan to the server and returns its digest, on which both have to agree.
func (a *attempt) keepPlan(ctx context.Context) (string, error) {
	file, err := os.Open(a.work.Plan())
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	ours, err := workspace.Digest(file)
	if err != nil {
		return "", err
	}
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	kept, err := a.client.PutPlan(ctx, file, info.Size())
	if err != nil {
		return "", fmt.Errorf("keep the plan: %w", err)
	}
	if kept.Digest != ours {
		return "", fmt.Errorf("keep the plan: the server has %s, the plan is %s", kept.Digest, ours)
	}
	return ours, nil
}

// policy is the class of a plan that a policy denies.
const policy = runnerapi.FailurePolicyDenied

// deniedError is why a policy denies the plan.
type deniedError struct{ why string }

func (e *deniedError) Error() string { return e.why }

// checkPolicy has the server evaluate the policies on the plan, and logs their findings. What counts is the result
// that the server stores, not what the runner reports.
func (a *attempt) checkPolicy(ctx context.Context) (result, error) {
	if a.tooLarge {
		return result{}, &deniedError{"the plan is too large to be checked by policies"}
	}
	verdict, err := a.client.CheckPolicy(ctx, a.planned.Digest)
	if err != nil {
		return result{}, fmt.Errorf("ask the policies: %w", err)
	}
	var first string
	for _, f := range verdict.Findings {
		said := a.clean(f.Policy + ": " + f.Message)
		fmt.Fprintf(a.text, "%-4s  %s\n", f.Action, said)
		if first == "" && f.Action == runnerapi.Deny {
			first = said
		}
	}
	if more := verdict.More(); more > 0 {
		fmt.Fprintf(a.text, "and %d more\n", more)
	}
	denied := verdict.Denied()
	switch {
	case denied > 1:
		return result{}, &deniedError{fmt.Sprintf("%s (and %d more)", first, denied-1)}
	case denied == 1:
		return result{}, &deniedError{first}
	}
	message := fmt.Sprintf("%d checked", verdict.Checked)
	if verdict.ApprovalRequired() > 0 {
		message += ", approval required"
	}
	if warned := verdict.Warned(); warned > 0 {
		message += ", " + counted(warned, "warning")
	}
	return result{message: message}, nil
}
