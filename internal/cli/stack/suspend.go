package stack

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
)

func suspendCommand(s *session.Session) *cobra.Command {
	return setSuspend(s, &cobra.Command{
		Use:   "suspend STACK...",
		Short: "Suspend a Stack: start no new Run, not for a deletion either; active Runs continue",
		Long: `Suspends a Stack: no new Run starts, not for a deletion either. Active Runs continue. Needs the verb update on
the Stack.`,
		Example: s.Examples(`cairn suspend net`),
	}, true, "is suspended; active Runs continue")
}

func resumeCommand(s *session.Session) *cobra.Command {
	return setSuspend(s, &cobra.Command{
		Use:     "resume STACK...",
		Short:   "Resume a suspended Stack",
		Long:    "Resumes a suspended Stack. Needs the verb update on the Stack.",
		Example: s.Examples(`cairn resume net`),
	}, false, "is resumed")
}

// setSuspend completes a command that sets spec.suspend.
func setSuspend(s *session.Session, cmd *cobra.Command, suspend bool, result string) *cobra.Command {
	onStack(s, cmd, func(ctx context.Context, stack *v1alpha1.Stack) error {
		user, err := s.User(ctx)
		if err != nil {
			return err
		}
		if err := s.Patch(ctx, stack, action.SuspendStack(stack, suspend, user)); err != nil {
			return s.Denied(err, "stacks", "update")
		}
		_, err = fmt.Fprintf(s.Text(), "Stack %s %s.\n", stack.Name, result)
		return err
	})
	return s.Several(cmd, session.CompleteStacksThat(func(stack *v1alpha1.Stack) bool {
		return stack.Spec.Suspend != suspend
	}))
}
