package stack

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/session"
)

func retryCommand(s *session.Session) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "retry STACK",
		Short: "Retry a failed or canceled Run, with a new plan",
		Long: `Asks for a Run that does what the last one did not get done: an apply or a destroy. It begins with a new plan, which waits
for an approval where the Stack says so. It takes the verb apply on the Stack, or destroy.`,
		Example: s.Examples(`
			cairn retry net
			cairn retry net --wait`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, err := s.Stack(ctx, args[0])
			if err != nil {
				return err
			}
			again, err := again(ctx, s, stack)
			if err != nil {
				return err
			}
			run, err := requested(ctx, s, stack, again)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "Run %s tries it again.\n", run.Name)
			if !wait {
				return nil
			}
			if run, err = follow(ctx, s, run, func(r *v1alpha1.Run) bool { return finished(r) || waits(s, stack, r) == nil }); err != nil {
				return err
			}
			if !finished(run) {
				fmt.Fprintf(s.ErrOut, "Run %s waits: `%s approve %s` approves it.\n", run.Name, s.Program, run.Name)
				return session.ErrChanges
			}
			return carriedOut(s, run)
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the Run until it is over, or waits for an approval")
	return cmd
}

// again is the operation of what was not done.
func again(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) (v1alpha1.Operation, error) {
	runs, err := runsOf(ctx, s, stack.Namespace, stack.Name)
	if err != nil {
		return "", err
	}
	operation, last := action.Again(stack, runs)
	switch {
	case operation != "":
		return operation, nil
	case last != nil:
		return "", fmt.Errorf("there is nothing to try again: Run %s succeeded; `%s apply %s` asks for another one", last.Name, s.Program, stack.Name)
	}
	return "", fmt.Errorf("there is nothing to try again: no Run of Stack %s was to change anything; `%s apply %s` asks for one", stack.Name, s.Program, stack.Name)
}
