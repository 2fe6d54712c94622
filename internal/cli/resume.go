package cli

import "github.com/spf13/cobra"

func resumeCommand(s *session) *cobra.Command {
	return s.switchCommand(&cobra.Command{
		Use:     "resume STACK",
		Short:   "Let a Stack that was suspended go on",
		Example: s.examples(`cairn resume net`),
	}, false, "goes on")
}
