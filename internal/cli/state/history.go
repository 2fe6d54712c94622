package state

import (
	"context"
	"fmt"
	"net/http"

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
	cmd := onState(s, &cobra.Command{
		Use:   "history STACK",
		Short: "List the stored versions of a Stack's state",
		Long: `Lists the stored versions of the state, newest first, with their writers and times, and the lock if there is
one. With -o wide it reads each version to count its resources, which needs the verb pull.`,
		Example: s.Examples(`
			cairn state history net
			cairn state history net -o wide`),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		return showHistory(ctx, s, key, format)
	})
	session.AddFormatFlag(cmd, &format, session.FormatWide)
	return cmd
}

func showHistory(ctx context.Context, s *session.Session, key client.ObjectKey, format string) error {
	st, err := getState(ctx, s, key)
	if err != nil {
		return err
	}
	if format == session.FormatJSON || format == session.FormatYAML {
		return s.PrintValue(format, st.Status.Versions)
	}
	if st.Status.Version == 0 {
		fmt.Fprintf(s.ErrOut, "The state of Stack %s has no version yet.\n", key.Name)
	} else {
		counts := map[int64]int32{st.Status.Version: int32(st.Status.Resources)}
		if format == session.FormatWide {
			if err := countVersions(ctx, s, st, counts); err != nil {
				return err
			}
		}
		if err := s.PrintTable(screen.StateVersions(st, counts, s.Style()), format == session.FormatWide, false); err != nil {
			return err
		}
	}
	return screen.StateNotes(s.Text(), st, s.Style())
}

// maxReads is the number of versions that are read concurrently.
const maxReads = 4

// countVersions counts the resources in each version but the current one, whose number the State has. It skips versions
// that were deleted meanwhile.
func countVersions(ctx context.Context, s *session.Session, st *v1alpha1.State, counts map[int64]int32) error {
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	found := make([]*int32, len(st.Status.Versions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
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
	if session.HasCode(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	document, err := document.Parse(data)
	return &document.Resources, err
}
