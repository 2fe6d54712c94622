package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

func historyCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "history STACK",
		Short: "List the stored versions of a Stack's state",
		Long: `Lists the versions of the state that are kept, the newest first: who wrote them and when; and the lock, when
it is held. With -o wide each version is read, to count its resources: that takes the verb pull.`,
		Example: s.Examples(`
			cairn state history net
			cairn state history net -o wide`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(format, session.FormatJSON, session.FormatYAML, session.FormatWide); err != nil {
				return err
			}
			return showHistory(cmd.Context(), s, args[0], format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json, yaml or wide")
	return cmd
}

func showHistory(ctx context.Context, s *session.Session, arg, format string) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	st, err := getState(ctx, s, key)
	if err != nil {
		return err
	}
	if format == session.FormatJSON || format == session.FormatYAML {
		return s.PrintValue(format, st.Status.Versions)
	}
	if st.Status.Version == 0 {
		fmt.Fprintf(s.ErrOut, "Nothing was written to the state of Stack %s yet.\n", key.Name)
	} else {
		counts := map[int64]int32{st.Status.Version: st.Status.Resources}
		if format == session.FormatWide {
			if err := countVersions(ctx, s, st, counts); err != nil {
				return err
			}
		}
		if err := s.PrintTable(screen.StateVersions(st, counts, s.Style()), format == session.FormatWide, false); err != nil {
			return err
		}
	}
	return screen.StateNotes(s.Out, st, s.Style())
}

// readAtOnce is how many versions are read at the same time.
const readAtOnce = 4

// countVersions counts the resources in each version but the current one, which the State tells of. A version that is
// dropped meanwhile is left out.
func countVersions(ctx context.Context, s *session.Session, st *v1alpha1.State, counts map[int64]int32) error {
	server, err := s.Server(ctx)
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
		return s.ExplainServer(err)
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
	document, err := document.Parse(data)
	return &document.Resources, err
}
