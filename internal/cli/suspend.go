package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/action"
)

func suspendCommand(s *session) *cobra.Command {
	return s.switchCommand(&cobra.Command{
		Use:     "suspend STACK",
		Short:   "Suspend a Stack: start no new Run, not for a deletion either; active Runs continue",
		Example: s.examples(`cairn suspend net`),
	}, true, "is suspended; what runs goes on")
}

// switchCommand sets spec.suspend.
func (s *session) switchCommand(cmd *cobra.Command, suspend bool, done string) *cobra.Command {
	cmd.Args = s.takes(1)
	cmd.ValidArgsFunction = s.complete(completeStacks)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		stack, err := s.stack(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		who, err := s.user(cmd.Context())
		if err != nil {
			return err
		}
		if err := s.patch(cmd.Context(), stack, action.SuspendStack(stack, suspend, who)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "Stack %s %s.\n", stack.Name, done)
		return err
	}
	return cmd
}
