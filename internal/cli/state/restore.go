package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

func restoreCommand(s *session.Session) *cobra.Command {
	var (
		forget, yes bool
		format      string
	)
	cmd := &cobra.Command{
		Use:   "restore STACK",
		Short: "Restore a state from its backup in the bucket, where Cairn does not do so by itself",
		Long: `Restores the state from its backup. The bucket has a backup of each state. When Kubernetes has lost a State
object, as after a restore of etcd, Cairn restores the state by itself. It does not when the backup is of another
Stack with the same name, or when State and backup both have later versions: then nothing is planned until an
administrator of Cairn restores the backup, or discards it with --forget. The backup may have secrets of another owner
of the name, so this needs the verb restore on states, which no role of the chart has.

To go back to an earlier version use "cairn state rollback"; to recover a state from the log of a pod, "cairn state
recover".`,
		Example: s.Examples(`
			cairn state restore net
			cairn state restore net --forget`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			return restoreState(cmd.Context(), s, args[0], forget, yes, format)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "discard the backup: the state stays as it is, or there is none")
	session.AddFormatFlag(cmd, &format)
	yesFlag(cmd, &yes)
	return cmd
}

func restoreState(ctx context.Context, s *session.Session, arg string, forget, yes bool, format string) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	question := "Replace the state of Stack %s with its backup?"
	if forget {
		question = "Discard the backup of the state of Stack %s? Cairn then manages none of the resources that only the " +
			"backup has."
	}
	if err := s.Confirm(ctx, yes, true, fmt.Sprintf(question, key.Name)); err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	version, err := server.RestoreState(ctx, key.Namespace, key.Name, forget)
	if err != nil {
		return s.ExplainServer(err)
	}
	if forget && version.Version == 0 {
		fmt.Fprintf(s.Out, "Stack %s has no state.\n", key.Name)
		return nil
	}
	return printVersion(s, format, key, version)
}
