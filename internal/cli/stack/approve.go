package stack

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/approval"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func approveCommand(s *session.Session) *cobra.Command {
	var (
		digest     string
		show, wait bool
	)
	cmd := &cobra.Command{
		Use:   "approve STACK|RUN",
		Short: "Approve the plan that waits, so that exactly it is applied",
		Long: `Approves the plan that a Run has now, and no other one: a plan that takes its place has to be approved again. To be sure
that it is the one you read, give its digest. It takes the verb approve on the Run.`,
		Example: s.Examples(`
			cairn approve net
			cairn approve net --show
			cairn approve net-7 --digest sha256:1f3c... --wait`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacksAndRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, run, err := s.StackOrRun(ctx, args[0])
			if err != nil {
				return err
			}
			if err := waits(s, stack, run); err != nil {
				return err
			}
			if err := screen.Plan(s.Out, run, s.Style()); err != nil {
				return err
			}
			if digest == "" {
				digest = run.Status.Plan.Digest
			}
			if show {
				fmt.Fprintln(s.Out)
				if err := showPlan(ctx, s, run, showing{}); err != nil {
					return err
				}
				if s.TTY {
					ok, err := s.Ask(ctx, "Approve this plan? Only 'yes' does:", "yes")
					if err != nil {
						return stillWaits(s, run, err)
					}
					if !ok {
						fmt.Fprintf(s.ErrOut, "Run %s is not approved, and waits.\n", run.Name)
						return session.ErrChanges
					}
				}
			}
			if err := approve(ctx, s, run, digest); err != nil {
				return stillWaits(s, run, err)
			}
			fmt.Fprintf(s.Out, "Run %s is approved by %s.\n", run.Name, run.Spec.Approval.By)
			if !wait {
				return nil
			}
			if run, err = follow(ctx, s, run, finished); err != nil {
				return err
			}
			return carriedOut(s, run)
		},
	}
	f := cmd.Flags()
	f.StringVar(&digest, "digest", "", "digest of the plan that was read; another one is refused. Default: the plan that the Run has now")
	f.BoolVar(&show, "show", false, "show the whole plan first and, on a terminal, ask")
	f.BoolVar(&wait, "wait", false, "follow the Run to its end")
	return cmd
}

// waits is nil when a Run waits for somebody to approve it, and else says what it does instead.
func waits(s *session.Session, stack *v1alpha1.Stack, run *v1alpha1.Run) error {
	switch {
	case run == nil:
		return fmt.Errorf("the Stack %s never had a Run, so there is nothing to approve: `%s why %s` says why", stack.Name, s.Program, stack.Name)
	case !approval.Pending(run):
		return fmt.Errorf("there is no plan that waits for an approval: %s", screen.Line(run, s.Style()))
	case screen.Approved(run):
		return fmt.Errorf("the Run %s is approved already, by %s: %s", run.Name, screen.Clean(run.Spec.Approval.By), screen.Line(run, s.Style()))
	}
	return nil
}
