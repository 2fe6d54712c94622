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
	cmd := onStack(s, &cobra.Command{
		Use:   "destroy STACK...",
		Short: "Destroy all resources of a Stack; the Stack stays",
		Long: `Requests a Run that destroys all resources, follows it and shows its plan. It lists the Stacks that have to
be destroyed first, and asks for the Stack's name before it destroys anything; without a terminal it needs --yes. The
Stack remains, and creates no resources before a user requests an apply. To remove the Stack too, delete it. Needs the
verb destroy on the Stack and, if its plans need an approval, approve on its Runs.`,
		Example: s.Examples(`
			cairn destroy net
			cairn destroy net --yes`),
	}, func(ctx context.Context, stack *v1alpha1.Stack) error {
		if err := showDependents(ctx, s, stack); err != nil {
			return err
		}
		if err := confirmDestroy(ctx, s, stack, yes); err != nil {
			return err
		}
		confirm := func(ctx context.Context, run *v1alpha1.Run) (bool, error) {
			if yes {
				return true, nil
			}
			return askToApprove(ctx, s, run, "Approve this plan and destroy all resources? Enter the Stack's name, "+
				stack.Name+", to confirm:", stack.Name)
		}
		return requestAndApprove(ctx, s, stack, v1alpha1.OperationDestroy, nil, confirm)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the plan without asking")
	return s.Several(cmd, session.CompleteStacksThat(func(stack *v1alpha1.Stack) bool {
		return !stack.Spec.Suspend && stack.Spec.DeletionPolicy != v1alpha1.DeletionProtect
	}))
}

// confirmDestroy asks the user to confirm, unless the plan will wait for an approval.
func confirmDestroy(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, yes bool) error {
	switch {
	case stack.Spec.DeletionPolicy == v1alpha1.DeletionProtect:
		return fmt.Errorf("spec.deletionPolicy of Stack %s is Protect, so its resources cannot be destroyed: "+
			"change it first",
			stack.Name)
	case yes:
		return nil
	case !s.TTY:
		return fmt.Errorf("this destroys all resources of Stack %s: confirm with --yes", stack.Name)
	case stack.Spec.Apply == v1alpha1.ApplyManual, slices.Contains(stack.Spec.RequireApprovalFor,
		v1alpha1.ChangeDelete):
		return nil // asks when the plan waits for an approval
	}
	all := "all resources"
	if n := stack.Status.Resources; n >= 0 { // unknown where the engine encrypts the state
		all = fmt.Sprintf("all %d resources", n)
	}
	ok, err := s.Ask(ctx, fmt.Sprintf("This destroys %s of Stack %s without an approval. Enter the "+
		"Stack's name to confirm:", all, stack.Name), stack.Name)
	if err == nil && !ok {
		err = errors.New("nothing was destroyed")
	}
	return err
}
