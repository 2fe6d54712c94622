package runner

import (
	"context"
	"fmt"
	"os"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// mostResources is how many changes of a plan are told; the counts count all.
const mostResources = 100

// makePlan plans and keeps the plan.
func (a *attempt) makePlan(ctx context.Context) (result, error) {
	args := a.engine.Plan(engine.Plan{
		Events: a.work.events(), VariableFiles: a.files.paths(), Out: a.work.plan(), Destroy: a.order.Destroy,
	})
	var said *capture
	var code int32
	var events engine.Events
	adopted, err := a.findMissing(ctx)
	if err != nil {
		return result{}, err
	}
	defer func() { said.remove() }()
	err = a.planning(ctx, adopted, func() (err error) {
		said.remove()
		if said, err = startCapture(a.work.said()); err == nil {
			code, events, err = a.run(ctx, engine.StepPlan, call{args: args, also: said}, engine.PlanChanges)
		}
		return err
	})
	if err != nil {
		return result{}, err
	}
	if err := a.checkDeclared(events.Undeclared); err != nil {
		return result{}, err
	}
	plan := a.describe(events.Changes)
	a.check(adopted, events.Imported)
	a.doubtScript(adopted)
	plan.Orphaned = adopted.orphans
	plan.Script = a.order.Command != ""
	plan.Changes = code == engine.PlanChanges
	a.settled = adopted.settles(plan.Changes)
	if a.engine.version == "" {
		a.engine.version = events.Version
	}
	plan.EngineVersion = a.engine.version
	if grunt, ok := a.engine.Engine.(engine.Terragrunt); ok { // whose events are those of what it runs
		plan.Wrapped = &store.WrappedEngine{Name: grunt.Engine.Name(), Version: events.Version}
	}
	if plan.Digest, err = a.keepPlan(ctx); err != nil {
		return result{}, err
	}
	a.about = &aboutPlan{Plan: *plan, counted: true}
	if err := a.keepForms(ctx, said); err != nil {
		return result{}, err
	}
	a.planned = plan
	a.ready = &ready{digest: plan.Digest, files: a.files, engine: a.engine, about: a.about, backendType: a.backendType}
	message := events.Changes.String()
	switch {
	case !plan.Changes:
		message = "no changes"
	case message == "":
		message = "only outputs change"
	}
	if n := len(plan.Orphaned); n > 0 {
		message += fmt.Sprintf("; %d resources of the journal could not be taken into the state", n)
	}
	return result{message: message, exitCode: &code}, nil
}

func (a *attempt) describe(changes engine.Changes) *store.Plan {
	n := changes.Counts()
	plan := &store.Plan{Add: n.Add, Change: n.Change, Destroy: n.Destroy, Replace: n.Replace, Import: n.Import, Forget: n.Forget}
	for _, c := range changes[:min(len(changes), mostResources)] {
		plan.Resources = append(plan.Resources, store.ResourceChange{Address: a.clean(c.Address), Action: string(c.Action)})
	}
	return plan
}

// keepPlan sends the plan to the store and gives its digest, on which both have to agree.
func (a *attempt) keepPlan(ctx context.Context) (string, error) {
	file, err := os.Open(a.work.plan())
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	ours, err := digest(file)
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
		return "", fmt.Errorf("keep the plan: the store has %s, the plan is %s", kept.Digest, ours)
	}
	return ours, nil
}
