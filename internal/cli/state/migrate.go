package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

func migrateCommand(s *session.Session) *cobra.Command {
	c := change{Session: s}
	cmd := onState(s, &cobra.Command{
		Use:   "migrate STACK",
		Short: "Move a Stack's state to the backend of its spec",
		Long: `Moves the state to the spec.backend of the Stack. The next plan writes it into the backend if that has no
state, or an older version of the same state; it never overwrites a newer or another state. Without spec.backend, Cairn stores
the state from now on, from its copy of the last state in the backend. The state in the old backend remains there, and
is not read any more.`,
		Example: s.Examples(`
			kubectl patch stack net --type=merge -p '{"spec":{"backend":{"type":"s3","config":{"bucket":"states","key":"net"}}}}'
			cairn state migrate net
			cairn apply net`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error { return c.migrate(ctx, key) })
	c.addFlags(cmd)
	return cmd
}

func (c *change) migrate(ctx context.Context, key client.ObjectKey) error {
	shown := int64(0)
	if !c.yes {
		st, err := getState(ctx, c.Session, key)
		if err != nil {
			return err
		}
		shown = st.Status.Version
		from := "Cairn"
		if in := st.Status.Backend; in != nil {
			from = fmt.Sprintf("backend %s, which had serial %d at the last check", in.Type, in.Serial)
		}
		fmt.Fprintf(c.ErrOut, "The state is in %s. Version %d has serial %d and %s.\n",
			from, st.Status.Version, st.Status.Serial, countResources(int64(st.Status.Resources)))
	}
	question := fmt.Sprintf("Move the state of Stack %s to the backend of its spec?", key.Name)
	if err := c.Confirm(ctx, c.yes, true, question); err != nil {
		return err
	}
	move, err := session.Call(ctx, c.Session, func(server *userapi.Client) (userapi.StateMove, error) {
		return server.At(shown).MoveState(ctx, key.Namespace, key.Name)
	})
	switch {
	case err != nil:
		return err
	case c.format != "":
		return c.PrintValue(c.format, move)
	case move.To == "":
		_, err = fmt.Fprintf(c.Text(), "Cairn stores the state of Stack %s from now on: version %d, serial %d, %s. "+
			"The state in backend %s remains there, and is not read any more.\n",
			key.Name, move.Version, move.Serial, countResources(int64(move.Resources)), move.From)
		return err
	}
	_, err = fmt.Fprintf(c.Text(), "The next plan of Stack %s writes version %d (serial %d, %s) into backend %s, "+
		"if that has no state or an older one: cairn apply %s\n",
		key.Name, move.Version, move.Serial, countResources(int64(move.Resources)), move.To, key.Name)
	return err
}
