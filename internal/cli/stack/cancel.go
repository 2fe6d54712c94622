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
)

func cancelCommand(s *session.Session) *cobra.Command {
	var wait bool
	cmd := onRun(s, &cobra.Command{
		Use:   "cancel STACK|RUN...",
		Short: "Cancel a Run; an active apply finishes pending operations and saves the state",
		Long: `Cancels a Run or, of a Stack, its active Run. A Run that is queued or waits ends immediately. A running
engine is interrupted, finishes its pending operations and saves the state; that can take some time. A canceled Run is
not retried before the Stack changes or a user requests it. Needs the verb cancel on the Run.`,
		Example: s.Examples(`
			cairn cancel net
			cairn cancel net-7 --wait`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := action.CheckCancel(run); err != nil {
			return err
		}
		if !run.Spec.Cancel {
			if err := cancelRun(ctx, s, run); err != nil {
				return err
			}
		}
		if !wait {
			fmt.Fprintf(s.Text(), "Run %s is being canceled; `%s why %s` shows its progress.\n", run.Name,
				s.Command(), run.Name)
			return nil
		}
		run, err := follow(ctx, s, run, finished)
		switch {
		case err != nil:
			return err
		case run.Status.Phase == v1alpha1.PhaseCanceled:
			_, err := fmt.Fprintln(s.Text(), screen.Result(run))
			return err
		}
		return errors.New("too late to cancel: " + screen.Result(run))
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the Run to its end")
	return s.Several(cmd, session.CompleteRunsThat(func(run *v1alpha1.Run) bool {
		return action.CheckCancel(run) == nil && !run.Spec.Cancel
	}))
}

func cancelRun(ctx context.Context, s *session.Session, run *v1alpha1.Run) error {
	user, err := s.User(ctx)
	if err == nil {
		err = s.Denied(s.Patch(ctx, run, action.CancelRun(user)), "runs", action.Cancel)
	}
	if err != nil {
		return fmt.Errorf("the Run %s is not canceled: %w", run.Name, err)
	}
	return nil
}
