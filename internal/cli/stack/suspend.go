package stack

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/session"
)

func suspendCommand(s *session.Session) *cobra.Command {
	return switchCommand(s, &cobra.Command{
		Use:     "suspend STACK",
		Short:   "Suspend a Stack: start no new Run, not for a deletion either; active Runs continue",
		Example: s.Examples(`cairn suspend net`),
	}, true, "is suspended; what runs goes on")
}

// switchCommand sets spec.suspend.
func switchCommand(s *session.Session, cmd *cobra.Command, suspend bool, done string) *cobra.Command {
	cmd.Args = s.MaxArgs(1)
	cmd.ValidArgsFunction = s.Complete(session.CompleteStacks)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		stack, err := s.Stack(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		who, err := s.User(cmd.Context())
		if err != nil {
			return err
		}
		if err := s.Patch(cmd.Context(), stack, action.SuspendStack(stack, suspend, who)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "Stack %s %s.\n", stack.Name, done)
		return err
	}
	return cmd
}
