// Package cli is the command cairn. Its subcommands are in the packages below.
package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/cli/check"
	"cairn.dev/cairn/internal/cli/driftpause"
	"cairn.dev/cairn/internal/cli/notification"
	"cairn.dev/cairn/internal/cli/pipeline"
	"cairn.dev/cairn/internal/cli/repository"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/stack"
	"cairn.dev/cairn/internal/cli/stackset"
	"cairn.dev/cairn/internal/cli/state"
	"cairn.dev/cairn/internal/cli/webui"
)

// Main runs the command and returns the exit code of the process.
func Main() int { return session.Main(root) }

// Groups of commands in the help.
const (
	groupStacks       = "stacks"
	groupInstallation = "installation"
	groupRun          = "local"
)

// Command returns the command with its subcommands, for a description of them. It uses no terminal.
func Command() *cobra.Command { return root(session.New(genericiooptions.IOStreams{}, "cairn")) }

func root(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Short: "Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved",
		Long: `Runs OpenTofu on Kubernetes: plans every change, applies exactly what was approved.

Exit codes: 0 success, 1 failed, 2 there are changes, 130 interrupted while something is in progress.`,
	}
	s.Root(cmd)
	cmd.AddGroup(
		&cobra.Group{ID: groupStacks, Title: "Stacks and Runs:"},
		&cobra.Group{ID: groupInstallation, Title: "The installation:"},
		&cobra.Group{ID: groupRun, Title: "On this machine:"},
	)
	for _, c := range slices.Concat(stack.Commands(s), stackset.Commands(s), repository.Commands(s),
		pipeline.Commands(s), []*cobra.Command{
			state.Command(s), notification.Command(s), driftpause.Command(s), webui.Command(s),
		}, migrationCommands(s)) {
		s.AddFlags(c.PersistentFlags())
		c.GroupID = groupStacks
		cmd.AddCommand(c)
	}
	for _, c := range devCommands() {
		c.GroupID = groupRun
		cmd.AddCommand(c)
	}
	for _, c := range []*cobra.Command{check.Command(s), versionCommand(s)} {
		s.AddFlags(c.PersistentFlags())
		c.GroupID = groupInstallation
		cmd.AddCommand(c)
	}
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			onlySubcommands(c)
		}
	}
	onlyKnownTopics(cmd)
	return cmd
}

// onlyKnownTopics rejects an unknown command as an argument of help. The library would print the help of the root, or
// of the last command that it knows, and return exit code 0.
func onlyKnownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if len(rest) > 0 && (err != nil || found.HasSubCommands()) {
			return unknownCommand(found, rest[0])
		}
		return nil
	}
}

// onlySubcommands rejects unknown subcommands of a command that only has subcommands. The library would print its help
// to standard output and return exit code 0, so a script would continue with that as the result.
func onlySubcommands(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("%s: did you mean %s?", text, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s: see %s --help", text, cmd.CommandPath())
}
