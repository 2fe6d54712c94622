package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/engine/plan"
)

// describePullRequest describes a PullRequest.
func describePullRequest(ctx context.Context, s *session.Session, arg string) error {
	pull, err := s.PullRequest(ctx, arg)
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, s, pull)
	if err != nil {
		return err
	}
	return screen.PullRequest(s.Text(), pull, events, s.Style())
}

// stackPlan is the plan of an affected Stack, as JSON or YAML.
type stackPlan struct {
	Namespace string            `json:"namespace"`
	Stack     string            `json:"stack"`
	Run       string            `json:"run,omitempty"`
	Phase     v1alpha1.RunPhase `json:"phase,omitempty"`
	Message   string            `json:"message,omitempty"`
	Plan      *plan.View        `json:"plan,omitempty"`
}

// diffPullRequest shows the plans of the Stacks that a pull request affects. The error is ErrChanges if all of them are
// planned and one has changes.
func diffPullRequest(ctx context.Context, s *session.Session, arg, output string) error {
	pull, err := s.PullRequest(ctx, arg)
	if err != nil {
		return err
	}
	plans := make([]stackPlan, 0, len(pull.Status.Stacks))
	var result error
	missing := len(pull.Status.Skipped)
	for i, of := range pull.Status.Stacks {
		if output == "" {
			if i > 0 {
				fmt.Fprintln(s.Text())
			}
			fmt.Fprintf(s.Text(), "Stack %s/%s, Run %s: %s\n", of.Namespace, of.Name, cmp.Or(of.Run, "-"), of.Phase)
		}
		next, err := planOfStack(ctx, s, of, output == "")
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			missing++
			next.Message = cmp.Or(of.Message, err.Error())
			if output == "" {
				fmt.Fprintln(s.Text(), screen.CleanLines(next.Message))
			}
		case of.Plan.Changes:
			result = session.ErrChanges
		}
		plans = append(plans, next)
	}
	if output != "" {
		if err := s.PrintValue(output, plans); err != nil {
			return err
		}
	}
	switch ready := apimeta.FindStatusCondition(pull.Status.Conditions, v1alpha1.ConditionReady); {
	case missing > 0:
		return fmt.Errorf("%d of %d affected Stacks have no plan: `%s describe pr/%s` shows why", missing,
			len(pull.Status.Stacks)+len(pull.Status.Skipped), s.Command(), pull.Name)
	case len(plans) == 0 && ready != nil:
		fmt.Fprintf(s.ErrOut, "PullRequest %s has no plans: %s\n", pull.Name, screen.Clean(ready.Message))
	}
	return result
}

// planOfStack returns the plan of an affected Stack, and shows it as text.
func planOfStack(
	ctx context.Context, s *session.Session, of v1alpha1.PullRequestStack, text bool,
) (stackPlan, error) {
	next := stackPlan{Namespace: of.Namespace, Stack: of.Name, Run: of.Run, Phase: of.Phase}
	if of.Plan == nil {
		return next, errors.New("not planned yet")
	}
	run := &v1alpha1.Run{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Run}, run); err != nil {
		return next, err
	}
	if text {
		return next, showPlan(ctx, s, run, "")
	}
	view, err := readPlan(ctx, s, run)
	next.Plan = &view
	return next, err
}
