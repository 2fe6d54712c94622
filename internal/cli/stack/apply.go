package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func applyCommand(s *session.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "apply STACK",
		Short: "Plan a Stack and apply the plan once it is approved",
		Long: `Asks for a Run, also where nothing changed, follows it and shows its plan. Where the Stack waits for an approval you are
asked for it. Where nobody is there to be asked, and without --yes, it stops there: the Run waits, and the exit code is 2.
It takes the verb apply on the Stack, and approve on its Runs to approve.`,
		Example: s.Examples(`
			cairn apply net
			cairn apply net --yes`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, err := s.Stack(ctx, args[0])
			if err != nil {
				return err
			}
			run, err := requested(ctx, s, stack, v1alpha1.OperationApply)
			if err != nil {
				return err
			}
			return carryOut(ctx, s, run, func(ctx context.Context, r *v1alpha1.Run) (bool, error) {
				if yes {
					return true, nil
				}
				return s.Ask(ctx, "Approve this plan and apply it? Only 'yes' does:", "yes")
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the plan, whatever it is")
	return cmd
}

// carryOut follows a Run to its end. Each plan is shown, and where one waits for an approval consent is asked for.
func carryOut(ctx context.Context, s *session.Session, run *v1alpha1.Run, consent func(context.Context, *v1alpha1.Run) (bool, error)) error {
	shown := ""
	for {
		planned := func(r *v1alpha1.Run) bool {
			return r.Status.Plan != nil && r.Status.Plan.Changes && r.Status.Plan.Digest != shown && r.Status.Phase != v1alpha1.PhasePlanning
		}
		var err error
		run, err = follow(ctx, s, run, func(r *v1alpha1.Run) bool {
			return finished(r) || planned(r) || screen.WaitsForPerson(r)
		})
		if err != nil {
			return err
		}
		if planned(run) {
			shown = run.Status.Plan.Digest
			if err := showPlan(ctx, s, run, showing{}); err != nil {
				if ctx.Err() != nil || screen.WaitsForPerson(run) { // what was not read is not approved
					return stillWaits(s, run, err)
				}
				fmt.Fprintf(s.ErrOut, "%s: %v\n", s.Program, err)
			}
		}
		switch {
		case finished(run):
			return carriedOut(s, run)
		case screen.WaitsForPerson(run):
			if err := approveIf(ctx, s, run, consent); err != nil {
				return err
			}
		}
	}
}

// approveIf approves a plan if there is consent. Without, the Run waits.
func approveIf(ctx context.Context, s *session.Session, run *v1alpha1.Run, consent func(context.Context, *v1alpha1.Run) (bool, error)) error {
	ok, err := consent(ctx, run)
	switch {
	case err != nil:
		return stillWaits(s, run, err)
	case !ok:
		fmt.Fprintf(s.ErrOut, "Run %s is not approved, and waits: `%s approve %s` approves it, `%s reject %s` ends it.\n", run.Name, s.Program, run.Name, s.Program, run.Name)
		return session.ErrChanges
	}
	digest := run.Status.Plan.Digest
	if err := approve(ctx, s, run, digest); err != nil {
		return stillWaits(s, run, err)
	}
	return nil
}

// stillWaits says why a Run that waits for an approval did not get one.
func stillWaits(s *session.Session, run *v1alpha1.Run, err error) error {
	if errors.Is(err, context.Canceled) {
		return session.Interrupted("interrupted, and Run %s waits: `%s approve %s` approves it, `%s reject %s` ends it", run.Name, s.Program, run.Name, s.Program, run.Name)
	}
	return fmt.Errorf("the Run %s is not approved: %w", run.Name, err)
}

// carriedOut says how a Run ended.
func carriedOut(s *session.Session, run *v1alpha1.Run) error {
	if err := outcome(s, run); err != nil {
		return err
	}
	if p := run.Status.Plan; p == nil || !p.Changes {
		_, err := fmt.Fprintf(s.Out, "No changes: Run %s found everything as it is declared.\n", run.Name)
		return err
	}
	if run.Spec.Operation == v1alpha1.OperationPlan {
		fmt.Fprintf(s.ErrOut, "Nothing is applied: spec.apply of Stack %s is Never.\n", run.Spec.Stack.Name)
		return changesWait(run)
	}
	_, err := fmt.Fprintf(s.Out, "\n%s\n", screen.Result(run))
	return err
}
