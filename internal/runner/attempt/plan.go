package attempt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// mostResources is how many changes of a plan are reported; the counts count all.
const mostResources = 100

// planStep plans, and has the policies check the plan.
type planStep struct {
	*workbench
	// planned is the plan, once it is stored. tooLarge: its JSON is too large to be stored.
	planned  *runnerapi.Plan
	tooLarge bool
	// settled is the end of the journal, if the plan found nothing in it that the state does not have.
	settled string
}

// makePlan plans, and stores the plan on the server.
func (s *planStep) makePlan(ctx context.Context, journal journal) (result, error) {
	what := engine.Plan{Events: s.work.Events(), VariableFiles: s.files.paths(), Out: s.work.Plan(),
		Destroy: s.order.Destroy}
	if o := s.order.PlanOptions; o != nil {
		if len(journal.done) > 0 { // a part of the plan could leave out what is to be taken into the state
			return result{}, &engine.Rejection{
				Reason: "an apply was killed, and what it created is taken into the state by a plan without options: " +
					"request that first",
			}
		}
		what.Targets, what.Excludes, what.Replace, what.RefreshOnly = o.Targets, o.Excludes, o.Replace, o.RefreshOnly
	}
	args := s.engine.Args(what)
	var code int32
	var events engine.Events
	recovered, err := s.recover(ctx, journal.done, func() (err error) {
		code, events, err = s.run(ctx, engine.StepPlan, call{args: args}, engine.PlanChanges)
		return err
	})
	if err != nil {
		return result{}, err
	}
	if err := recovered.Plan(ctx); err != nil {
		return result{}, err
	}
	if !events.Planned { // the engine writes the plan first, and ignores that it cannot write an event
		return result{}, fmt.Errorf("%s planned, and its events do not have the whole plan: the disk of the pod "+
			"may be full",
			s.engine.Name())
	}
	if err := s.checkDeclared(events.Undeclared); err != nil {
		return result{}, err
	}
	if address := events.Changes.Without(what.Replace); address != "" { // of which engines print nothing
		return result{}, &engine.Rejection{Reason: fmt.Sprintf("nothing would be replaced: the plan has no "+
			"resource with the address %s of -replace; a resource with count or for_each has an index, as in "+
			"aws_instance.a[0]", address)}
	}
	if what.RefreshOnly {
		events.AcceptDrift()
	}
	plan := s.describe(events.Changes)
	recovered.CheckImported(events.Imported)
	s.checkScript(recovered)
	plan.Untracked = recovered.Orphans()
	plan.Script = s.order.Command != ""
	plan.Changes = events.HasChanges(code)
	why := ""
	if !plan.Changes && !what.RefreshOnly {
		if why, err = s.writesState(ctx); err != nil {
			return result{}, err
		}
		plan.StateOnly = why != ""
		plan.Changes = plan.StateOnly
	}
	if recovered.Settled(plan.Changes) {
		s.settled = journal.end
	}
	if s.engine.version == "" {
		s.engine.version = events.Version
	}
	plan.EngineVersion = s.engine.version
	if under := s.engine.under; under != nil { // the events are those of what it runs
		plan.Wrapped = &runnerapi.WrappedEngine{Name: under.Name(), Version: events.Version}
	}
	if plan.Digest, err = s.keepPlan(ctx); err != nil {
		return result{}, err
	}
	s.about = &aboutPlan{Plan: *plan, counted: true}
	if s.tooLarge, err = (&planForms{s.workbench}).keepForms(ctx); err != nil {
		return result{}, err
	}
	s.planned = plan
	s.ready = &ready{setup: s.setup, digest: plan.Digest, state: s.proxy.Planned()}
	return result{message: summary(plan, events.Changes, why), exitCode: &code}, nil
}

// summary is the message of a plan. why is the reason of one that writes the state alone.
func summary(plan *runnerapi.Plan, changes engine.Changes, why string) string {
	message := cmp.Or(changes.String(), "only outputs change")
	switch {
	case !plan.Changes:
		message = "no changes"
	case plan.StateOnly:
		message = runnerapi.OnlyState + ": " + why
	}
	if n := len(plan.Untracked); n > 0 {
		message += fmt.Sprintf("; %d resources of the journal could not be taken into the state", n)
	}
	return message
}

func (s *planStep) describe(changes engine.Changes) *runnerapi.Plan {
	described := countsOf(changes)
	secrets := map[string]bool{}
	for _, c := range changes[:min(len(changes), mostResources)] {
		described.Resources = append(described.Resources, runnerapi.ResourceChange{Address: s.clean(c.Address),
			Action: string(c.Action)})
		plan.HideKeys(c.Address, func(key string) string {
			hidden, found := s.secrets.Find(key)
			for _, secret := range found {
				secrets[secret] = true
			}
			return hidden
		})
	}
	described.Secrets = slices.Sorted(maps.Keys(secrets))
	return &described
}

// countsOf returns a plan with the numbers of its changes.
func countsOf(changes engine.Changes) runnerapi.Plan {
	n := changes.Counts()
	return runnerapi.Plan{
		Add: n.Add, Change: n.Change, Destroy: n.Destroy, Replace: n.Replace, Import: n.Import, Forget: n.Forget,
		Invoke: n.Invoke, Refresh: n.Refresh,
	}
}

// keepPlan sends the plan to the server and returns its digest, on which both have to agree.
func (s *planStep) keepPlan(ctx context.Context) (string, error) {
	file, err := os.Open(s.work.Plan())
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
	kept, err := s.client.PutPlan(ctx, file, info.Size())
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
func (s *planStep) checkPolicy(ctx context.Context) (result, error) {
	if s.tooLarge {
		return result{}, &deniedError{"the plan is too large to be checked by policies"}
	}
	verdict, err := s.client.CheckPolicy(ctx, s.planned.Digest)
	if err != nil {
		return result{}, fmt.Errorf("ask the policies: %w", err)
	}
	var first string
	for _, f := range verdict.Findings {
		said := s.clean(f.Policy + ": " + f.Message)
		fmt.Fprintf(s.text, "%-4s  %s\n", f.Action, said)
		if first == "" && f.Action == runnerapi.Deny {
			first = said
		}
	}
	if more := verdict.More(); more > 0 {
		fmt.Fprintf(s.text, "and %d more\n", more)
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
		message += ", " + shorten.Count(warned, "warning")
	}
	return result{message: message}, nil
}
