package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

func migrateCommand(s *session.Session) *cobra.Command {
	var (
		yes    bool
		format string
	)
	cmd := &cobra.Command{
		Use:   "migrate STACK",
		Short: "Move a Stack's state to the backend of its spec",
		Long: `Moves the state to the spec.backend of the Stack. The next plan writes it into the backend if that has no state,
or an older version of the same state; it never overwrites a newer or another state. Without spec.backend, Cairn stores
the state from now on, from its copy of the last state in the backend. The state in the old backend remains there, and
is not read any more.`,
		Example: s.Examples(`
			kubectl patch stack net --type=merge -p '{"spec":{"backend":{"type":"s3","config":{"bucket":"states","key":"net"}}}}'
			cairn state migrate net
			cairn apply net`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			return migrateState(cmd.Context(), s, args[0], yes, format)
		},
	}
	session.AddFormatFlag(cmd, &format)
	yesFlag(cmd, &yes)
	return cmd
}

func migrateState(ctx context.Context, s *session.Session, arg string, yes bool, format string) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	shown := int64(0)
	if !yes {
		st, err := getState(ctx, s, key)
		if err != nil {
			return err
		}
		shown = st.Status.Version
		from := "Cairn"
		if in := st.Status.Backend; in != nil {
			from = fmt.Sprintf("backend %s, which had serial %d at the last check", in.Type, in.Serial)
		}
		fmt.Fprintf(s.ErrOut, "The state is in %s. Version %d has serial %d and %s.\n",
			from, st.Status.Version, st.Status.Serial, countResources(int64(st.Status.Resources)))
	}
	if err := s.Confirm(ctx, yes, true, fmt.Sprintf("Move the state of Stack %s to the backend of its spec?",
		key.Name)); err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	move, err := server.At(shown).MoveState(ctx, key.Namespace, key.Name)
	if err != nil {
		return s.ExplainServer(err)
	}
	if format != "" {
		return s.PrintValue(format, move)
	}
	if move.To == "" {
		_, err = fmt.Fprintf(s.Out, "Cairn stores the state of Stack %s from now on: version %d, serial %d, %s. "+
			"The state in backend %s remains there, and is not read any more.\n",
			key.Name, move.Version, move.Serial, countResources(int64(move.Resources)), move.From)
		return err
	}
	_, err = fmt.Fprintf(s.Out, "The next plan of Stack %s writes version %d (serial %d, %s) into backend %s, "+
		"if that has no state or an older one: cairn apply %s\n",
		key.Name, move.Version, move.Serial, countResources(int64(move.Resources)), move.To, key.Name)
	return err
}
