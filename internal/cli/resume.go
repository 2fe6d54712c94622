package cli

import "github.com/spf13/cobra"

func resumeCommand(s *session) *cobra.Command {
	return s.switchCommand(&cobra.Command{
		Use:     "resume STACK",
		Short:   "Resume a suspended Stack",
		Example: s.examples(`cairn resume net`),
	}, false, "goes on")
}
