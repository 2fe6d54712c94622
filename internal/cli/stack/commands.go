// Package stack has the commands for Stacks and Runs.
package stack

import (
	"context"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

// Commands returns the commands for Stacks and Runs.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		getCommand(s), describeCommand(s), planCommand(s), diffCommand(s), applyCommand(s), approveCommand(s),
		rejectCommand(s), destroyCommand(s), cancelCommand(s), retryCommand(s), shellCommand(s), logsCommand(s),
		historyCommand(s), outputsCommand(s), suspendCommand(s), resumeCommand(s),
	}
}

// onStack completes a command whose only argument is a Stack.
func onStack(
	s *session.Session, cmd *cobra.Command, do func(context.Context, *v1alpha1.Stack) error,
) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = s.MaxArgs(1), s.Complete(session.CompleteStacks)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		stack, err := s.Stack(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), stack)
	}
	return cmd
}

// onRun completes a command whose only argument is a Run, or a Stack, for its active or else last Run.
func onRun(s *session.Session, cmd *cobra.Command, do func(context.Context, *v1alpha1.Run) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = s.MaxArgs(1), s.Complete(session.CompleteStacksAndRuns)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		stack, run, err := s.StackOrRun(cmd.Context(), args[0])
		switch {
		case err != nil:
			return err
		case run == nil:
			return errNoRun(s, stack)
		}
		return do(cmd.Context(), run)
	}
	return cmd
}
