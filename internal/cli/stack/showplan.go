package stack

import (
	"context"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

// showPlan shows the plan of a Run and the findings of policies: as text, or as json or yaml.
func showPlan(ctx context.Context, s *session.Session, r *v1alpha1.Run, output string) error {
	if r.Status.Plan == nil {
		return fmt.Errorf("the Run %s has no plan: %s", r.Name, screen.Line(r, s.Style()))
	}
	view, err := readPlan(ctx, s, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return showSummary(s, r, err)
	}
	if output != "" {
		return s.PrintValue(output, view)
	}
	if !r.Status.Plan.Changes {
		return printNoChanges(s, r)
	}
	if screen.IsApplied(r) {
		fmt.Fprintf(s.Text(), "Run %s has applied this plan:\n\n", r.Name)
	}
	if r.Status.Plan.StateOnly { // which is in no plan of the engine
		fmt.Fprintf(s.Text(), "Plan: %s.\n", runinfo.Summary(r.Status.Plan))
		return nil
	}
	if err := view.Write(s.Text(), plan.Style{Color: s.Color}); err != nil {
		return err
	}
	if partial := runinfo.Partial(r); partial != "" {
		fmt.Fprintf(s.Text(), "\nThis plan does not have all changes of the code: %s.\n", screen.Clean(partial))
	}
	return screen.Findings(s.Text(), r, s.Style())
}

// readPlan reads the plan of a Run that has one; an empty one without changes.
func readPlan(ctx context.Context, s *session.Session, r *v1alpha1.Run) (plan.View, error) {
	if !r.Status.Plan.Changes {
		return plan.View{}, nil
	}
	return session.Call(ctx, s, func(server *userapi.Client) (plan.View, error) {
		return server.Plan(ctx, r.Namespace, r.Name)
	})
}

// showSummary shows the summary of a plan in the Run's status, if the server does not return the plan.
func showSummary(s *session.Session, r *v1alpha1.Run, why error) error {
	if err := screen.Plan(s.Text(), r, s.Style()); err != nil {
		return err
	}
	return fmt.Errorf("only the summary of the plan is shown: %w", why)
}
