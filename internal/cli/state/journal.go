package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/userapi"
)

func journalCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "journal STACK",
		Short: "List resources that applies changed and that the state may lack",
		Long: `Lists what the journal of the state has: what applies have done since one of them came to its end with its
state written. It is empty unless one was killed. What is missing from the state is imported by the next plan;
docs/state.md has more. An ID is shown as the engine told it. Engines tell none that is sensitive.`,
		Example: s.Examples(`
			cairn state journal net
			cairn state journal net -o json`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(format, session.FormatJSON, session.FormatYAML); err != nil {
				return err
			}
			return showJournal(cmd.Context(), s, args[0], format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	return cmd
}

func showJournal(ctx context.Context, s *session.Session, arg, format string) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	journal, err := server.Journal(ctx, key.Namespace, key.Name)
	var refused *userapi.Error
	if errors.As(err, &refused) && refused.Code == http.StatusNotFound {
		return noState(ctx, s, key, err)
	}
	if err != nil {
		return s.ExplainServer(err)
	}
	switch {
	case format != "":
		return s.PrintValue(format, journal.Resources)
	case len(journal.Resources) == 0:
		fmt.Fprintf(s.ErrOut, "The journal of Stack %s is empty: its state has all that its applies did.\n", key.Name)
		return nil
	}
	return journalTable(s, journal.Resources)
}

// standings are the words for how a resource of a journal stands.
var standings = map[string]string{
	"InState":   "in the state",
	"Missing":   "missing: the next plan imports it",
	"TakenOut":  "taken out of the state by somebody",
	"Destroyed": "destroyed",
	"Unknown":   "the engine encrypts the state, and the next plan looks",
}

func journalTable(s *session.Session, resources []userapi.JournalResource) error {
	table := tabwriter.NewWriter(s.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "ADDRESS\tTYPE\tID\tRUN\tSTANDING")
	for _, r := range resources {
		id, standing := "-", standings[r.Standing]
		if r.ID != "" {
			id = statefile.Printable(r.ID)
		}
		if standing == "" { // of a newer server
			standing = statefile.Printable(r.Standing)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", statefile.Printable(r.Address), statefile.Printable(r.Type), id, statefile.Printable(r.Run), standing)
	}
	return table.Flush()
}
