package state

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

func rollbackCommand(s *session.Session) *cobra.Command {
	c := change{Session: s}
	cmd := onState(s, &cobra.Command{
		Use:   "rollback STACK VERSION",
		Short: "Roll a Stack's state back to an earlier version",
		Long: `Creates a new version of the state with the content of an earlier one, as "cairn state history" lists them;
no version is lost. It is rejected while the state is locked or a Run of the Stack is active. No resources change.
Cairn then plans the Stack with that state, which does not have the resources that were created since. The plan is
applied without an action of a user only if spec.apply is Automatic and spec.drift.onDrift is Apply.

To recover a state that no version has, because an apply could not save it, use "cairn state recover"; to use the
backup in the bucket, "cairn state restore".`,
		Example: s.Examples(`
			cairn state diff net 5 3
			cairn state rollback net 3`),
		Args:              session.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: s.Complete(completeVersions(1)),
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return c.rollBack(ctx, key, args[0])
	})
	c.addFlags(cmd)
	return cmd
}

func (c *change) rollBack(ctx context.Context, key client.ObjectKey, to string) error {
	version, err := parseVersion(to)
	if err != nil {
		return err
	}
	shown := int64(0)
	if !c.yes {
		if shown, err = showVersion(ctx, c.Session, key, version); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Roll the state of Stack %s back to version %d?", key.Name, version)
	if err := c.Confirm(ctx, c.yes, true, question); err != nil {
		return err
	}
	return writeVersion(ctx, c.Session, c.format, key, func(server *userapi.Client) (userapi.StateVersion, error) {
		return server.At(shown).Rollback(ctx, key.Namespace, key.Name, version)
	})
}

// showVersion shows the differences of an older version of a state from the current one, as far as the user may read
// them. It returns the current version; 0 if it is unknown.
func showVersion(ctx context.Context, s *session.Session, key client.ObjectKey, version int64) (int64, error) {
	data, err := Pull(ctx, s, key, version)
	switch {
	case session.HasCode(err, http.StatusForbidden):
		fmt.Fprintf(s.ErrOut, "It is not compared with the current version: %v.\n", err)
		return 0, nil
	case err != nil:
		return 0, err
	}
	return showReplacement(ctx, s, key, data)
}
