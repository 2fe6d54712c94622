package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func applyCommand(s *session.Session) *cobra.Command {
	var yes bool
	var options v1alpha1.PlanOptions
	cmd := onStack(s, &cobra.Command{
		Use:   "apply STACK...",
		Short: "Plan a Stack and apply the plan once it is approved",
		Long: `Requests a Run, even if nothing changed, follows it and shows its plan. If the plan needs an approval, it
asks you. Without a terminal and without --yes it stops there: the Run waits, and the exit code is 2. Once the plan is
applied, cairn outputs shows the new outputs. Of several names, each is applied in turn, also after an error.
Needs the verb apply on the Stack, and approve on its Runs to approve a plan. With --target, --exclude,
--replace or --refresh-only it needs the verb partial too, and the plan always needs an approval; after a part was
applied, or drift was accepted, Cairn plans the rest.`,
		Example: s.Examples(`
			cairn apply net
			cairn apply net dns --yes
			cairn apply net --replace 'aws_instance.web[0]'
			cairn apply net --target module.vpc
			cairn apply net --refresh-only`),
	}, func(ctx context.Context, stack *v1alpha1.Stack) error {
		confirm := func(ctx context.Context, run *v1alpha1.Run) (bool, error) {
			if yes {
				return true, nil
			}
			return askToApprove(ctx, s, run, "Approve this plan and apply it? Enter 'yes' to confirm:", "yes")
		}
		set, err := planOptions(&options)
		if err != nil {
			return err
		}
		return requestAndApprove(ctx, s, stack, v1alpha1.OperationApply, set, confirm)
	})
	addPlanOptions(cmd, &options)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the plan without asking")
	return s.Several(cmd, session.CompleteStacksThat(func(stack *v1alpha1.Stack) bool { return !stack.Spec.Suspend }))
}

// A confirmation returns whether the user approves the plan of a Run, which was shown.
type confirmation func(context.Context, *v1alpha1.Run) (bool, error)

// requestAndApprove requests a Run, and follows it to its end. It shows each plan, and approves those that the user
// confirms.
func requestAndApprove(
	ctx context.Context, s *session.Session, stack *v1alpha1.Stack, operation v1alpha1.Operation,
	options *v1alpha1.PlanOptions,
	confirm confirmation,
) error {
	run, err := requestRun(ctx, s, stack, operation, options)
	if err != nil {
		return err
	}
	shown := ""
	for {
		planned := func(r *v1alpha1.Run) bool {
			plan := r.Status.Plan
			return plan != nil && plan.Changes && plan.Digest != shown && r.Status.Phase != v1alpha1.PhasePlanning
		}
		run, err = follow(ctx, s, run, func(r *v1alpha1.Run) bool {
			return finished(r) || planned(r) || screen.AwaitsApproval(r)
		})
		if err != nil {
			return err
		}
		if planned(run) {
			shown = run.Status.Plan.Digest
			if err := showPlan(ctx, s, run, ""); err != nil {
				if ctx.Err() != nil || screen.AwaitsApproval(run) { // a plan that could not be shown is not approved
					return notApproved(s, run, err)
				}
				fmt.Fprintf(s.ErrOut, "%s: %v\n", s.Program, err)
			}
		}
		switch {
		case finished(run):
			return printResult(s, run)
		case screen.AwaitsApproval(run):
			if err := approveIfConfirmed(ctx, s, run, confirm); err != nil {
				return err
			}
		}
	}
}

// approveIfConfirmed approves the plan of a Run if the user confirms it. Otherwise the Run waits.
func approveIfConfirmed(ctx context.Context, s *session.Session, run *v1alpha1.Run, confirm confirmation) error {
	ok, err := confirm(ctx, run)
	switch {
	case err != nil:
		return notApproved(s, run, err)
	case !ok:
		fmt.Fprintf(s.ErrOut, "Run %s is not approved, and waits: %s.\n", run.Name, decisions(s, run))
		return session.ErrChanges
	}
	if err := approve(ctx, s, run, run.Status.Plan.Digest); err != nil {
		return notApproved(s, run, err)
	}
	return nil
}

// notApproved returns the error of a Run that was not approved, and waits.
func notApproved(s *session.Session, run *v1alpha1.Run, err error) error {
	switch {
	case errors.Is(err, session.ErrChanges):
		return err
	case errors.Is(err, context.Canceled):
		return session.Interrupted("interrupted; Run %s waits: %s", run.Name, decisions(s, run))
	}
	return fmt.Errorf("the Run %s is not approved: %w", run.Name, err)
}

// decisions returns the commands that approve and reject the plan of a Run, and no other.
func decisions(s *session.Session, run *v1alpha1.Run) string {
	return fmt.Sprintf("`%s` approves this plan, `%s` rejects it",
		planCommandOf(s, action.Approve, run), planCommandOf(s, action.Reject, run))
}

// printNoChanges prints that a plan has no changes. Engines print nothing about a target that matches nothing.
func printNoChanges(s *session.Session, run *v1alpha1.Run) error {
	fmt.Fprintf(s.Text(), "No changes: Run %s found no difference.\n", run.Name)
	if o := run.Spec.PlanOptions; o != nil && len(o.Targets) > 0 {
		fmt.Fprintf(s.ErrOut, "The plan has only %s. If that should have changes, compare the addresses with those of "+
			"the code and of `%s state list %s`.\n", runinfo.PlanOptions(o), s.Command(), run.Spec.Stack.Name)
	}
	return nil
}

// printResult prints the result of a finished Run.
func printResult(s *session.Session, run *v1alpha1.Run) error {
	if err := outcome(s, run); err != nil {
		return err
	}
	if p := run.Status.Plan; p == nil || !p.Changes {
		return printNoChanges(s, run)
	}
	if run.Spec.Operation == v1alpha1.OperationPlan {
		fmt.Fprintf(s.ErrOut, "Nothing is applied: spec.apply of Stack %s is Never.\n", run.Spec.Stack.Name)
		return hasChanges(run)
	}
	_, err := fmt.Fprintf(s.Text(), "\n%s\n", screen.Result(run))
	return err
}

func retryCommand(s *session.Session) *cobra.Command {
	var wait, yes bool
	cmd := onStack(s, &cobra.Command{
		Use:   "retry STACK...",
		Short: "Retry a failed or canceled Run, with a new plan",
		Long: `Requests a Run for the apply or destroy that failed or was canceled. It starts with a new plan, which waits
for an approval if the Stack requires one. The retry of a destroy asks for the Stack's name, as cairn destroy does;
without a terminal it needs --yes. Of several names, each is retried in turn, also after an error. Needs the verb apply on
the Stack, or destroy.`,
		Example: s.Examples(`
			cairn retry net
			cairn retry net dns
			cairn retry net --wait`),
	}, func(ctx context.Context, stack *v1alpha1.Stack) error { return retryStack(ctx, s, stack, wait, yes) })
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the Run until it ends or waits for an approval")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "retry a destroy without asking")
	return s.Several(cmd, session.CompleteStacksThat(func(stack *v1alpha1.Stack) bool {
		_, err := action.Again(stack)
		return err == nil
	}))
}

func retryStack(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, wait, yes bool) error {
	operation, err := action.Again(stack)
	if err != nil {
		return fmt.Errorf("%w; `%s apply %s` requests one", err, s.Command(), stack.Name)
	}
	if operation == v1alpha1.OperationDestroy {
		if err := confirmDestroy(ctx, s, stack, yes); err != nil {
			return err
		}
	}
	run, err := requestRun(ctx, s, stack, operation, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Text(), "Run %s was created.\n", run.Name)
	if !wait {
		return nil
	}
	run, err = follow(ctx, s, run, func(r *v1alpha1.Run) bool { return finished(r) || checkPending(s, r) == nil })
	switch {
	case err != nil:
		return err
	case finished(run):
		return printResult(s, run)
	}
	if err := screen.Plan(s.Text(), run, s.Style()); err != nil {
		return err
	}
	fmt.Fprintf(s.ErrOut, "Run %s waits: %s.\n", run.Name, decisions(s, run))
	return session.ErrChanges
}
