package app

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/operator"
)

func operatorCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "operator",
		Short: "Run only the operator, which reconciles Stacks and Runs",
		Long: `Runs the operator of Cairn. Active Runs continue without it, and so do reads of users and the commands for
states, which the server answers. Of several operators with --leader-elect one is the leader.

It needs the bucket and the namespace that cairn-controller server has. Flags of the server are accepted and ignored, so that
both can be started with the same flags.`,
	}, operator.Options{Operator: true})
}
