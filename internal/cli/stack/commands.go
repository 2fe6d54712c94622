// Package stack has the commands for Stacks and Runs.
package stack

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

// Commands returns the commands for Stacks and Runs.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		getCommand(s), describeCommand(s), planCommand(s), diffCommand(s), applyCommand(s), approveCommand(s),
		rejectCommand(s),
		destroyCommand(s), cancelCommand(s), retryCommand(s), shellCommand(s), logsCommand(s), historyCommand(s),
		outputsCommand(s),
		suspendCommand(s), resumeCommand(s),
	}
}
