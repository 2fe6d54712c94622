package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func unlockCommand(s *session.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "unlock STACK LOCK_ID",
		Short: "Remove a lock on a Stack's state whose holder no longer runs",
		Long: `Ends the lock with that ID. Cairn does so by itself as soon as it knows that the pod that holds a lock is
gone; this is for the rest. It is refused while that pod may still be at work: two engines at once would lose what one
of them makes.

The lock of a user's engine, outside of the cluster, ends with that engine. Cairn cannot know whether it still runs:
ask that user before you end its lock. What the engine changes afterwards it cannot write to the state.`,
		Example: s.Examples(`
			cairn state history net
			cairn state unlock net 5c21e1a5-0ad9-4b2a-8d6b-2f1f7b0b7d4e`),
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			return unlockState(cmd.Context(), s, args[0], args[1], yes)
		},
	}
	yesFlag(cmd, &yes)
	return cmd
}

func unlockState(ctx context.Context, s *session.Session, arg, id string, yes bool) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	if !yes {
		st, err := getState(ctx, s, key)
		if err != nil {
			return err
		}
		if st.Status.Lock == nil {
			return fmt.Errorf("the state of Stack %s is not locked", key.Name)
		}
		fmt.Fprintln(s.ErrOut, screen.LockOf(st.Status.Lock, s.Style()))
		if by := st.Status.Lock.By; by != "" {
			fmt.Fprintf(s.ErrOut, "Ask %s whether that engine still runs. What it changes afterwards it cannot write to the state.\n", screen.Clean(by))
		}
	}
	if err := s.Confirm(ctx, yes, true, fmt.Sprintf("End the lock %s on the state of Stack %s?", id, key.Name)); err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	if err := server.Unlock(ctx, key.Namespace, key.Name, id); err != nil {
		return s.ExplainServer(err)
	}
	_, err = fmt.Fprintf(s.Out, "The state of Stack %s is not locked any more.\n", key.Name)
	return err
}
