package stack

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

func diffCommand(s *session.Session) *cobra.Command {
	var how showing
	cmd := &cobra.Command{
		Use:   "diff STACK|RUN",
		Short: "Show the plan that waits, or else the last one; nothing is run",
		Long: `Shows the plan of a Run or, of a Stack, the one of its Run under way or else of its last one. Nothing is run. The exit
code is 2 when the plan has changes. It takes get on runs/plan.`,
		Example: s.Examples(`
			cairn diff net
			cairn diff net-7 --raw`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacksAndRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := how.check(); err != nil {
				return err
			}
			ctx := cmd.Context()
			stack, run, err := s.StackOrRun(ctx, args[0])
			if err != nil {
				return err
			}
			if run == nil {
				return fmt.Errorf("the Stack %s never had a Run: `%s why %s` says why", stack.Name, s.Program, stack.Name)
			}
			if err := showPlan(ctx, s, run, how); err != nil {
				return err
			}
			return changesWait(run)
		},
	}
	how.addFlags(cmd)
	return cmd
}
