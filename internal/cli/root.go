// Package cli is the command cairn. Its subcommands are in the packages below.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/cli/convert"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/stack"
	"cairn.dev/cairn/internal/cli/state"
	"cairn.dev/cairn/internal/version"
)

// Main runs the command and returns the exit code of the process.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := session.FromProcess()
	return exitCode(s.ErrOut, s.Program, root(s).ExecuteContext(ctx))
}

// exitCode prints an error and returns its exit code.
func exitCode(stderr io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	var exit session.ExitError
	if !errors.As(err, &exit) {
		exit = session.ExitError{Code: session.ExitFailed, Err: err}
	}
	if exit.Err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", program, screen.CleanLines(err.Error())) // the text may have untrusted parts
	}
	return exit.Code
}

// Groups of commands in the help.
const (
	groupStacks = "stacks"
	groupRun    = "local"
)

// Command returns the command with its subcommands, for a description of them. It uses no terminal.
func Command() *cobra.Command { return root(session.New(genericiooptions.IOStreams{}, "cairn")) }

func root(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cairn",
		Short: "Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved",
		Long: `Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved.

Exit codes: 0 success, 1 failed, 2 there are changes, 130 interrupted while something is in progress.`,
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: s.Program},

		PersistentPreRun: func(c *cobra.Command, _ []string) { s.BindRequests(c.Context()) },
	}
	cmd.SetVersionTemplate("{{.Version}}\n") // as the command version prints it
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.ErrOut)
	cmd.AddGroup(
		&cobra.Group{ID: groupStacks, Title: "Stacks and Runs:"}, &cobra.Group{ID: groupRun, Title: "On this machine:"},
	)
	for _, c := range slices.Concat(stack.Commands(s), []*cobra.Command{state.Command(s)}, convert.Commands(s)) {
		s.AddFlags(c.PersistentFlags())
		c.GroupID = groupStacks
		cmd.AddCommand(c)
	}
	for _, c := range devCommands() {
		c.GroupID = groupRun
		cmd.AddCommand(c)
	}
	cmd.AddCommand(versionCommand())
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			onlySubcommands(c)
		}
	}
	return cmd
}

// onlySubcommands rejects unknown subcommands of a command that only has subcommands. The library would print its help
// to standard output and return exit code 0, so a script would continue with that as the result.
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
