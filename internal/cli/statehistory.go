package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/userapi"
)

func stateHistoryCommand(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "history STACK",
		Short: "List the stored versions of a Stack's state",
		Long: `Lists the versions of the state that are kept, the newest first: who wrote them and when; and the lock, when it is held.
With -o wide each version is read, to count its resources: that takes the verb pull.`,
		Example: s.examples(`
			cairn state history net
			cairn state history net -o wide`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML, formatWide); err != nil {
				return err
			}
			return s.stateHistory(cmd.Context(), args[0], format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json, yaml or wide")
	return cmd
}

func (s *session) stateHistory(ctx context.Context, arg, format string) error {
	key, err := s.stateName(arg)
	if err != nil {
		return err
	}
	st, err := s.stateOf(ctx, key)
	if err != nil {
		return err
	}
	if format == formatJSON || format == formatYAML {
		return s.printValue(format, st.Status.Versions)
	}
	if st.Status.Version == 0 {
		fmt.Fprintf(s.ErrOut, "Nothing was written to the state of Stack %s yet.\n", key.Name)
	} else {
		counts := map[int64]int32{st.Status.Version: st.Status.Resources}
		if format == formatWide {
			if err := s.countVersions(ctx, st, counts); err != nil {
				return err
			}
		}
		if err := s.printTable(screen.StateVersions(st, counts, s.style()), format == formatWide, false); err != nil {
			return err
		}
	}
	return screen.StateNotes(s.Out, st, s.style())
}

// readAtOnce is how many versions are read at the same time.
const readAtOnce = 4

// countVersions counts the resources in each version but the current one, which the State tells of. A version that is
// dropped meanwhile is left out.
func (s *session) countVersions(ctx context.Context, st *v1alpha1.State, counts map[int64]int32) error {
	server, err := s.server(ctx)
	if err != nil {
		return err
	}
	found := make([]*int32, len(st.Status.Versions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for i, v := range st.Status.Versions {
		if v.Version == st.Status.Version {
			continue
		}
		group.Go(func() error {
			n, err := countVersion(ctx, server, client.ObjectKeyFromObject(st), v.Version)
			found[i] = n
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return s.explainServer(err)
	}
	for i, n := range found {
		if n != nil {
			counts[st.Status.Versions[i].Version] = *n
		}
	}
	return nil
}

func countVersion(ctx context.Context, server *userapi.Client, key client.ObjectKey, version int64) (*int32, error) {
	data, err := server.State(ctx, key.Namespace, key.Name, version)
	var refused *userapi.Error
	if errors.As(err, &refused) && refused.Code == 404 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	document, err := state.Parse(data)
	return &document.Resources, err
}
