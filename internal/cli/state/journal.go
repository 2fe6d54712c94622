package state

import (
	"context"
	"fmt"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/userapi"
)

func journalCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := onState(s, &cobra.Command{
		Use:   "journal STACK",
		Short: "List resources that applies changed and that the state may lack",
		Long: `Lists the journal of the state: the resource changes since the last apply that saved its state. It is empty
unless an apply was killed. The next plan imports the resources that the state lacks. Engines report no sensitive IDs.

See ` + version.Docs + `how-to/state-backup.md#the-journal`,
		Example: s.Examples(`
			cairn state journal net
			cairn state journal net -o json`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		return showJournal(ctx, s, key, format)
	})
	session.AddFormatFlag(cmd, &format)
	return cmd
}

func showJournal(ctx context.Context, s *session.Session, key client.ObjectKey, format string) error {
	journal, err := session.Call(ctx, s, func(server *userapi.Client) (userapi.Journal, error) {
		return server.Journal(ctx, key.Namespace, key.Name)
	})
	switch {
	case session.HasCode(err, http.StatusNotFound):
		return noState(ctx, s, key, err)
	case err != nil:
		return err
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
	table := tabwriter.NewWriter(s.Text(), 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "ADDRESS\tTYPE\tID\tRUN\tSTANDING")
	for _, r := range resources {
		id, standing := "-", standings[r.Standing]
		if r.ID != "" {
			id = plan.Escape(r.ID)
		}
		if standing == "" { // of a newer server
			standing = plan.Escape(r.Standing)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			plan.Escape(r.Address), plan.Escape(r.Type), id, plan.Escape(r.Run), standing)
	}
	return table.Flush()
}
