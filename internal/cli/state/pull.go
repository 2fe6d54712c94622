package state

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

func pullCommand(s *session.Session) *cobra.Command {
	var version int64
	var rescued bool
	cmd := onState(s, &cobra.Command{
		Use:   "pull STACK",
		Short: "Print a Stack's state as its engine wrote it",
		Long:  `Prints the bytes of the state, with its secrets in clear text: protect the output.`,
		Example: s.Examples(`
			cairn state pull net > net.tfstate
			cairn state pull net --rescued > lost.tfstate
			cairn state pull net --version 3 | tofu show -json /dev/stdin`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		var data []byte
		var err error
		if rescued {
			data, err = session.Call(ctx, s, func(server *userapi.Client) ([]byte, error) {
				return server.RescuedState(ctx, key.Namespace, key.Name)
			})
		} else {
			data, err = Pull(ctx, s, key, version)
		}
		if err != nil {
			return err
		}
		_, err = s.Out.Write(data)
		return err
	})
	cmd.Flags().Int64Var(&version, "version", 0, "version of the state; default: the current one")
	cmd.Flags().BoolVar(&rescued, "rescued", false,
		"the rescued state, which an apply could not save, in place of the current version")
	cmd.MarkFlagsMutuallyExclusive("version", "rescued")
	return cmd
}
