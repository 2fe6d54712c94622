package state

import (
	"context"
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
		Long: `Lists the journal of the state: the resource changes since the last apply that saved its state. It is empty
unless an apply was killed. The next plan imports the resources that the state lacks; see docs/state.md. Engines report
no sensitive IDs.`,
		Example: s.Examples(`
			cairn state journal net
			cairn state journal net -o json`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showJournal(cmd.Context(), s, args[0], format)
		},
	}
	session.AddFormatFlag(cmd, &format)
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
	if session.HasCode(err, http.StatusNotFound) {
		return noState(ctx, s, key, err)
	}
	if err != nil {
		return s.ExplainServer(err)
	}
	switch {
	case format != "":
		return s.PrintValue(format, journal.Resources)
	case len(journal.Resources) == 0:
		fmt.Fprintf(s.ErrOut, "The journal of Stack %s is empty: its state has all changes of its applies.\n", key.Name)
		return nil
	}
	return journalTable(s, journal.Resources)
}

// standings describe whether the state has a resource of the journal.
var standings = map[string]string{
	"InState":   "in the state",
	"Missing":   "missing: the next plan imports it",
	"TakenOut":  "removed from the state by a user",
	"Destroyed": "destroyed",
	"Unknown":   "unknown: the engine encrypts the state; the next plan checks",
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
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			statefile.Printable(r.Address), statefile.Printable(r.Type), id, statefile.Printable(r.Run), standing)
	}
	return table.Flush()
}
