// Package cli is the cairn command, one file a subcommand.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/screen"
)

// Main runs the command line and gives the process's exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := newSession()
	return exitCode(s.ErrOut, s.program, root(s).ExecuteContext(ctx))
}

// exitCode says what went wrong, and gives the exit code for it.
func exitCode(stderr io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	var exit exitError
	if !errors.As(err, &exit) {
		exit = exitError{exitFailed, err}
	}
	if exit.err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", program, screen.CleanLines(err.Error())) // which may quote strangers
	}
	return exit.code
}

// programName is how the command is called by its user: as a plugin of kubectl it is a command of that.
func programName(argv0 string) string {
	if strings.TrimSuffix(filepath.Base(argv0), ".exe") == "kubectl-cairn" {
		return "kubectl cairn"
	}
	return "cairn"
}

// Groups of commands, as the usage shows them.
const (
	groupStacks = "stacks"
	groupRun    = "processes"
)

func root(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cairn",
		Short: "Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved",
		Long: `Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved.

Exit codes: 0 success, 1 failed, 2 there are changes, 130 interrupted while something is in progress.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: s.program},

		PersistentPreRun: func(c *cobra.Command, _ []string) { s.within(c.Context()) },
	}
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.ErrOut)
	cmd.AddGroup(&cobra.Group{ID: groupStacks, Title: "Stacks and Runs:"}, &cobra.Group{ID: groupRun, Title: "Processes:"})
	s.forPeople(cmd, groupStacks,
		getCommand(s), describeCommand(s), planCommand(s), diffCommand(s), applyCommand(s), approveCommand(s), rejectCommand(s),
		destroyCommand(s), cancelCommand(s), retryCommand(s), shellCommand(s), logsCommand(s), historyCommand(s), outputsCommand(s),
		suspendCommand(s), resumeCommand(s), stateCommand(s), migrateCommand(s), generateCommand(s),
	)
	cmd.AddCommand(versionCommand(), evaluatePoliciesCommand())
	for _, c := range []*cobra.Command{devCommand(), demoCommand(), serveCommand(), operatorCommand(), serverCommand()} {
		c.GroupID = groupRun
		cmd.AddCommand(c)
	}
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			onlySubcommands(c)
		}
	}
	return cmd
}

// onlySubcommands has a command that is but a name for others refuse what is none of them. By itself the library shows its help then, on standard
// output and with exit code 0: a script would go on, and take that for what it asked for.
func onlySubcommands(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("%s: did you mean %s?", text, strings.Join(near, ", "))
		}
		return fmt.Errorf("%s: see %s --help", text, cmd.CommandPath())
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
