package state

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

func pullCommand(s *session.Session) *cobra.Command {
	var version int64
	var rescued bool
	cmd := &cobra.Command{
		Use:   "pull STACK",
		Short: "Print a Stack's state as its engine wrote it",
		Long:  `Prints the bytes of the state, with its secrets in clear text: protect the output.`,
		Example: s.Examples(`
			cairn state pull net > net.tfstate
			cairn state pull net --rescued > lost.tfstate
			cairn state pull net --version 3 | tofu show -json /dev/stdin`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := stateKey(s, args[0])
			if err != nil {
				return err
			}
			var data []byte
			if rescued {
				data, err = pullRescued(cmd.Context(), s, key)
			} else {
				data, err = Pull(cmd.Context(), s, key, version)
			}
			if err != nil {
				return err
			}
			_, err = s.Out.Write(data)
			return err
		},
	}
	cmd.Flags().Int64Var(&version, "version", 0, "version of the state; default: the current one")
	cmd.Flags().BoolVar(&rescued, "rescued", false,
		"the rescued state, which an apply could not save, in place of the current version")
	cmd.MarkFlagsMutuallyExclusive("version", "rescued")
	return cmd
}
