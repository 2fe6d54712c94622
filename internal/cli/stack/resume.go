package stack

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

func resumeCommand(s *session.Session) *cobra.Command {
	return switchCommand(s, &cobra.Command{
		Use:     "resume STACK",
		Short:   "Resume a suspended Stack",
		Example: s.Examples(`cairn resume net`),
	}, false, "goes on")
}
