package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func unlockCommand(s *session.Session) *cobra.Command {
	var yes bool
	cmd := onState(s, &cobra.Command{
		Use:   "unlock STACK LOCK_ID",
		Short: "Remove a lock on a Stack's state whose holder no longer runs",
		Long: `Removes the lock with that ID. Cairn itself removes a lock when the pod that holds it was deleted; use this
command in other cases. It is rejected while the pod may still run, as two concurrent engines would lose changes.

The engine of a user outside of the cluster removes its lock when it ends. Cairn cannot detect whether it still runs:
ask that user before you remove its lock. Later changes of that engine cannot be saved to the state.`,
		Example: s.Examples(`
			cairn state history net
			cairn state unlock net 5c21e1a5-0ad9-4b2a-8d6b-2f1f7b0b7d4e`),
		Args:              session.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: s.Complete(completeLocks),
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return unlockState(ctx, s, key, args[0], yes)
	})
	yesFlag(cmd, &yes)
	return cmd
}

// completeLocks completes a State that is locked, and then the ID of its lock.
func completeLocks(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	if len(args) == 1 {
		key, err := stateKey(s, args[0])
		if err != nil {
			return nil, err
		}
		st, err := getState(ctx, s, key)
		if err != nil || st.Status.Lock == nil {
			return nil, err
		}
		return []string{st.Status.Lock.ID}, nil
	}
	return session.CompleteObjects(ctx, s, args, &v1alpha1.StateList{}, func(st *v1alpha1.State) bool {
		return st.Status.Lock != nil
	})
}

func unlockState(ctx context.Context, s *session.Session, key client.ObjectKey, id string, yes bool) error {
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
			fmt.Fprintf(s.ErrOut, "Ask %s whether the engine still runs. Its later changes cannot be saved to "+
				"the state.\n",
				screen.Clean(by))
		}
	}
	question := fmt.Sprintf("Remove the lock %s on the state of Stack %s?", id, key.Name)
	if err := s.Confirm(ctx, yes, true, question); err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	if err := server.Unlock(ctx, key.Namespace, key.Name, id); err != nil {
		return s.ExplainServer(err)
	}
	_, err = fmt.Fprintf(s.Text(), "The state of Stack %s is unlocked.\n", key.Name)
	return err
}
