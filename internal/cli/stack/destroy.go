package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

func destroyCommand(s *session.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "destroy STACK",
		Short: "Destroy all resources of a Stack; the Stack stays",
		Long: `Asks for a Run that destroys everything, follows it and shows its plan. You are asked for the Stack's name before anything
is destroyed; where nobody is there to be asked it takes --yes. The Stack stays, and makes nothing again before somebody
asks for that with apply. To end the Stack too, delete it.
It takes the verb destroy on the Stack and, where its plans wait for an approval, approve on its Runs.`,
		Example: s.Examples(`
			cairn destroy net
			cairn destroy net --yes`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, err := s.Stack(ctx, args[0])
			if err != nil {
				return err
			}
			if err := mayDestroy(ctx, s, stack, yes); err != nil {
				return err
			}
			run, err := requested(ctx, s, stack, v1alpha1.OperationDestroy)
			if err != nil {
				return err
			}
			return carryOut(ctx, s, run, func(ctx context.Context, _ *v1alpha1.Run) (bool, error) {
				if yes {
					return true, nil
				}
				return s.Ask(ctx, "Approve this plan and destroy everything? Only the Stack's name, "+stack.Name+", does:", stack.Name)
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, and approve the plan, whatever it is")
	return cmd
}

// mayDestroy makes sure that somebody says yes: here, or when the plan is there.
func mayDestroy(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, yes bool) error {
	switch {
	case stack.Spec.DeletionPolicy == v1alpha1.DeletionProtect:
		return fmt.Errorf("spec.deletionPolicy of Stack %s is Protect: nothing of it is destroyed while it is", stack.Name)
	case yes:
		return nil
	case !s.TTY:
		return fmt.Errorf("everything that Stack %s made would be destroyed: --yes says that this is meant", stack.Name)
	case stack.Spec.Apply == v1alpha1.ApplyManual, slices.Contains(stack.Spec.RequireApprovalFor, v1alpha1.ChangeDelete):
		return nil // the plan waits
	}
	ok, err := s.Ask(ctx, fmt.Sprintf("All of the %d resources of Stack %s are destroyed at once. Only the Stack's name does it:", stack.Status.Resources, stack.Name), stack.Name)
	if err == nil && !ok {
		err = errors.New("nothing is destroyed")
	}
	return err
}
