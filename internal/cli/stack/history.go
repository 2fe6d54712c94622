package stack

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func historyCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "history STACK",
		Short: "Show the Runs of a Stack, newest first",
		Example: s.Examples(`
			cairn history net
			cairn history net -o wide`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(format, session.FormatJSON, session.FormatYAML, session.FormatWide, session.FormatName); err != nil {
				return err
			}
			stack, err := s.Stack(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			runs, err := runsOf(cmd.Context(), s, stack.Namespace, stack.Name)
			switch {
			case err != nil:
				return err
			case format != "" && format != session.FormatWide:
				return printList(s, format, &v1alpha1.RunList{Items: runs}, false)
			case len(runs) == 0:
				fmt.Fprintf(s.ErrOut, "The Stack %s never had a Run: `%s why %s` says why.\n", stack.Name, s.Program, stack.Name)
				return nil
			}
			return s.PrintTable(screen.History(runs, s.Style()), format == session.FormatWide, false)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json, yaml, wide or name")
	return cmd
}
