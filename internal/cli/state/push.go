package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

func pushCommand(s *session.Session) *cobra.Command {
	c := change{Session: s}
	var force bool
	cmd := onState(s, &cobra.Command{
		Use:   "push STACK FILE|-",
		Short: "Push a file as the new version of a Stack's state",
		Long: `Writes a file, or standard input, as the new version of the state. As for tofu state push, it must have the
lineage of the state and a higher serial, unless --force is set. It is rejected while the state is locked or a Run of
the Stack is active. No resources change: the next plan compares the resources with the new state.`,
		Example: s.Examples(`
			cairn state push net net.tfstate
			tofu state pull | cairn state push net - --yes`),
		Args: session.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string,
			cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault // a file
			}
			return s.Complete(completeStates)(cmd, args, toComplete)
		},
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return c.push(ctx, key, args[0], force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "accept another lineage, or a serial that does not increase")
	c.addFlags(cmd)
	return cmd
}

func (c *change) push(ctx context.Context, key client.ObjectKey, file string, force bool) error {
	data, err := readFile(ctx, c.Session, file, userapi.LargestState)
	if err != nil {
		return err
	}
	document, err := document.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	shown := int64(0)
	if !c.yes {
		fmt.Fprintf(c.ErrOut, "The state in %s has serial %d and %s.\n",
			file, document.Serial, countResources(int64(document.Resources)))
		if shown, err = showReplacement(ctx, c.Session, key, data); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Write it as the state of Stack %s?", key.Name)
	if err := c.Confirm(ctx, c.yes, file != "-", question); err != nil {
		return err
	}
	return writeVersion(ctx, c.Session, c.format, key, func(server *userapi.Client) (userapi.StateVersion, error) {
		return server.At(shown).PushState(ctx, key.Namespace, key.Name, data, force)
	})
}

// readFile reads a file, or standard input for -.
func readFile(ctx context.Context, s *session.Session, name string, limit int64) (data []byte, err error) {
	if name == "-" {
		data, err = s.ReadInput(ctx, limit+1)
	} else {
		data, err = readUpTo(name, limit+1)
	}
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB, the limit of a state", name, limit>>20)
	}
	return data, err
}

func readUpTo(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(file, limit))
}

// showReplacement shows the differences of a new state from the current one, as far as the user may read it. It returns
// the current version; 0 if it is unknown.
func showReplacement(
	ctx context.Context, s *session.Session, key client.ObjectKey, data []byte,
) (shown int64, err error) {
	if st, err := getState(ctx, s, key); err == nil {
		shown = st.Status.Version
	}
	next, err := statefile.Parse(data)
	if errors.Is(err, statefile.ErrEncrypted) {
		return shown, nil
	}
	if err != nil {
		return 0, err
	}
	current, err := readState(ctx, s, key, shown)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		fmt.Fprintf(s.ErrOut, "It cannot be compared with the current version: %v.\n", err)
		return shown, nil
	}
	fmt.Fprintf(s.ErrOut, "Its differences from the current version, serial %d:\n\n", current.Serial)
	d := statefile.Compare(current, next)
	if err := d.Write(s.ErrOut, style(s)); err != nil {
		return 0, err
	}
	if n := d.Count(statefile.Removed); n > 0 {
		fmt.Fprintf(s.ErrOut, "\nRemoved from the state, but not destroyed: %s. An apply would create them again.\n",
			countResources(int64(n)))
	}
	return shown, nil
}
