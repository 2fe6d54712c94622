package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func historyCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := onState(s, &cobra.Command{
		Use:   "history STACK",
		Short: "List the stored versions of a Stack's state",
		Long: `Lists the stored versions of the state, newest first, with their writers and times, and the lock if there is
one.`,
		Example: s.Examples(`
			cairn state history net
			cairn state history net -o wide`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		return showHistory(ctx, s, key, format)
	})
	session.AddFormatFlag(cmd, &format, session.FormatWide)
	return cmd
}

func showHistory(ctx context.Context, s *session.Session, key client.ObjectKey, format string) error {
	st, err := getState(ctx, s, key)
	if err != nil {
		return err
	}
	if format == session.FormatJSON || format == session.FormatYAML {
		return s.PrintValue(format, st.Status.Versions)
	}
	if st.Status.Version == 0 {
		fmt.Fprintf(s.ErrOut, "The state of Stack %s has no version yet.\n", key.Name)
	} else {
		if err := s.PrintTable(screen.StateVersions(st, s.Style()), format == session.FormatWide, false); err != nil {
			return err
		}
	}
	return screen.StateNotes(s.Text(), st, s.Style())
}
