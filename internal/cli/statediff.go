package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/statefile"
)

func stateDiffCommand(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff STACK [FROM] [TO]",
		Short: "Compare two versions of a Stack's state",
		Long: `Shows what the state with version TO has otherwise than that with version FROM: resources that are there or gone, and
attributes that are different. Without TO it is the current version; without FROM the one before it. Of sensitive values
it is said that they are different, and no more. The exit code is 0 also when something is different.`,
		Example: s.examples(`
			cairn state diff net
			cairn state diff net 3
			cairn state diff net 3 5 -o json`),
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: s.complete(completeVersions(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML); err != nil {
				return err
			}
			return s.stateDiff(cmd.Context(), args[0], args[1:], format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	return cmd
}

func (s *session) stateDiff(ctx context.Context, arg string, versions []string, format string) error {
	key, err := s.stateName(arg)
	if err != nil {
		return err
	}
	from, to, err := s.versionsOf(ctx, key, versions)
	if err != nil {
		return err
	}
	before, after, err := s.lookAtBoth(ctx, key, from, to)
	if err != nil {
		return err
	}
	d := statefile.Compare(before, after)
	if format != "" {
		return s.printValue(format, d)
	}
	fmt.Fprintf(s.Out, "State %s: version %d (serial %d) -> version %d (serial %d)\n\n", key.Name, from, before.Serial, to, after.Serial)
	return d.Write(s.Out, s.stateStyle())
}

// versionsOf are the two versions to compare.
func (s *session) versionsOf(ctx context.Context, key client.ObjectKey, versions []string) (from, to int64, err error) {
	if len(versions) == 2 {
		if from, err = parseVersion(versions[0]); err == nil {
			to, err = parseVersion(versions[1])
		}
		return from, to, err
	}
	st, err := s.stateOf(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	to = st.Status.Version
	if len(versions) == 1 {
		from, err = parseVersion(versions[0])
		return from, to, err
	}
	kept := st.Status.Versions
	if len(kept) < 2 {
		return 0, 0, fmt.Errorf("only %d version of the state of Stack %s is kept: there is nothing to compare it with", len(kept), key.Name)
	}
	return kept[len(kept)-2].Version, to, nil
}

// lookAtBoth reads two versions at once.
func (s *session) lookAtBoth(ctx context.Context, key client.ObjectKey, from, to int64) (before, after *statefile.State, err error) {
	if _, err := s.server(ctx); err != nil { // what both need is found out once, and not by both at the same time
		return nil, nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { before, err = s.look(ctx, key, from); return err })
	group.Go(func() (err error) { after, err = s.look(ctx, key, to); return err })
	return before, after, group.Wait()
}
