package cli

import (
	"github.com/spf13/cobra"
)

func statePullCommand(s *session) *cobra.Command {
	var version int64
	var rescued bool
	cmd := &cobra.Command{
		Use:   "pull STACK",
		Short: "Print a Stack's state as its engine wrote it",
		Long:  `Prints the bytes of the state. They are in clear, with all secrets that are in them: mind where they go.`,
		Example: s.examples(`
			cairn state pull net > net.tfstate
			cairn state pull net --rescued > lost.tfstate
			cairn state pull net --version 3 | tofu show -json /dev/stdin`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := s.stateName(args[0])
			if err != nil {
				return err
			}
			pull := func() ([]byte, error) { return s.pull(cmd.Context(), key, version) }
			if rescued {
				pull = func() ([]byte, error) { return s.pullRescued(cmd.Context(), key) }
			}
			data, err := pull()
			if err != nil {
				return err
			}
			_, err = s.Out.Write(data)
			return err
		},
	}
	cmd.Flags().Int64Var(&version, "version", 0, "version of the state; default: the current one")
	cmd.Flags().BoolVar(&rescued, "rescued", false, "the state that an apply could not save and that waits beside the current version")
	cmd.MarkFlagsMutuallyExclusive("version", "rescued")
	return cmd
}
