package cli

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/operator"
)

func operatorCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "operator",
		Short: "Run the operator alone: what reconciles Stacks and Runs",
		Long: `Runs the half of Cairn that reconciles. Runs that are under way go on without it, and so do people's reads and the
commands about states: those are the server's. Of several, with --leader-elect, one is active.

It needs the bucket and the namespace that cairn server has. Flags of the server are taken and mean nothing here, so that
both can be started with the same ones.`,
	}, operator.Options{Operator: true})
}
