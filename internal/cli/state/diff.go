package state

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
)

func diffCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := onState(s, &cobra.Command{
		Use:   "diff STACK [FROM] [TO]",
		Short: "Compare two versions of a Stack's state",
		Long: `Shows the differences of version TO of the state from version FROM: resources that were added, removed or
moved, and attributes that changed. TO is the current version by default, and FROM the version before it. A resource has
moved if its address disappeared, and another address has the object with its type, provider and ID; if several objects
have the same ID, they count as removed and added. Sensitive values are not shown, only that they differ. The exit code
is 0 also if the versions differ.`,
		Example: s.Examples(`
			cairn state diff net
			cairn state diff net 3
			cairn state diff net 3 5 -o json`),
		Args:              session.Args(cobra.RangeArgs(1, 3)),
		ValidArgsFunction: s.Complete(completeVersions(2)),
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return showDiff(ctx, s, key, args, format)
	})
	session.AddFormatFlag(cmd, &format)
	return cmd
}

func showDiff(ctx context.Context, s *session.Session, key client.ObjectKey, versions []string, format string) error {
	from, to, err := versionsOf(ctx, s, key, versions)
	if err != nil {
		return err
	}
	before, after, err := readBoth(ctx, s, key, from, to)
	if err != nil {
		return err
	}
	d := statefile.Compare(before, after)
	if format != "" {
		return s.PrintValue(format, d)
	}
	fmt.Fprintf(s.Text(), "State %s: version %d (serial %d) -> version %d (serial %d)\n\n",
		key.Name, from, before.Serial, to, after.Serial)
	return d.Write(s.Text(), style(s))
}

// versionsOf returns the two versions to compare.
func versionsOf(
	ctx context.Context, s *session.Session, key client.ObjectKey, versions []string,
) (from, to int64, err error) {
	if len(versions) == 2 {
		if from, err = parseVersion(versions[0]); err == nil {
			to, err = parseVersion(versions[1])
		}
		return from, to, err
	}
	st, err := getState(ctx, s, key)
	if err != nil {
		return 0, 0, err
	}
	to = st.Status.Version
	if len(versions) == 1 {
		from, err = parseVersion(versions[0])
		return from, to, err
	}
	stored := st.Status.Versions
	if len(stored) < 2 {
		return 0, 0, fmt.Errorf("there are no two versions of the state of Stack %[2]s to compare: it has %[1]d",
			len(stored), key.Name)
	}
	return stored[len(stored)-2].Version, to, nil
}

// readBoth reads two versions concurrently.
func readBoth(
	ctx context.Context, s *session.Session, key client.ObjectKey, from, to int64,
) (before, after *statefile.State, err error) {
	if _, err := s.Server(ctx); err != nil { // creates the client of the session, which is not safe for concurrent use
		return nil, nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { before, err = readState(ctx, s, key, from); return err })
	group.Go(func() (err error) { after, err = readState(ctx, s, key, to); return err })
	return before, after, group.Wait()
}
