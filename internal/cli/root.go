// Package cli is the cairn command, one file a subcommand.
package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/version"
)

// Main runs the command line and gives the process's exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cairn:", err)
		return 1
	}
	return 0
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "cairn",
		Short:         "Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(devCommand(), demoCommand(), serveCommand(), versionCommand())
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.Version) },
	}
}

// logger writes to standard error.
func logger(level slog.Level, json bool) logr.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}
