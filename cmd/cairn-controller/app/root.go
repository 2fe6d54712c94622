// Package app is the command cairn-controller: the operator and the server, in one process or in one each.
package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/cmd/cairn-controller/app/dev"
	"cairn.dev/cairn/internal/base/version"
)

// Main runs the command and returns the exit code of the process.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cairn-controller:", err)
		return 1
	}
	return 0
}

// Command returns the command with its subcommands.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "cairn-controller",
		Short:         "Runs Cairn in a cluster: the operator and the server",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(dev.Commands()...)
	cmd.AddCommand(serveCommand(), operatorCommand(), serverCommand(), evaluatePoliciesCommand(), &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.Version) },
	})
	return cmd
}
