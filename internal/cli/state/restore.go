package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

func restoreCommand(s *session.Session) *cobra.Command {
	c := change{Session: s}
	var forget bool
	cmd := onState(s, &cobra.Command{
		Use:   "restore STACK",
		Short: "Restore a state from its backup, where Cairn does not do so by itself",
		Long: `Restores the state from its backup. The bucket has a backup of each state. When Kubernetes has lost a State
object, as after a restore of etcd, Cairn restores the state by itself. It does not when the backup is of another
Stack with the same name, or when State and backup both have later versions: then nothing is planned until an
administrator of Cairn restores the backup, or discards it with --forget. The backup may have secrets of another owner
of the name, so this needs the verb restore on states, which no role of the chart has.

If the bucket has no backup, or an earlier one, and a State names no version, as when a backup tool restored the objects
without their status, it restores the last version in the Secrets of the state. Then --forget deletes these Secrets.

To go back to an earlier version use "cairn state rollback"; to recover a state from the log of a pod, "cairn state
recover".`,
		Example: s.Examples(`
			cairn state restore net
			cairn state restore net --forget`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error { return c.restore(ctx, key, forget) })
	cmd.Flags().BoolVar(&forget, "forget", false, "discard the backup: the state stays as it is, or there is none")
	c.addFlags(cmd)
	return cmd
}

func (c *change) restore(ctx context.Context, key client.ObjectKey, forget bool) error {
	question := "Replace the state of Stack %s with its backup, or with the last version in its Secrets?"
	if forget {
		question = "Discard the backup of the state of Stack %s, and Secrets of versions that its State does not " +
			"name? Cairn then manages none of the resources that only these have."
	}
	if err := c.Confirm(ctx, c.yes, true, fmt.Sprintf(question, key.Name)); err != nil {
		return err
	}
	return writeVersion(ctx, c.Session, c.format, key, func(server *userapi.Client) (userapi.StateVersion, error) {
		return server.RestoreState(ctx, key.Namespace, key.Name, forget)
	})
}
