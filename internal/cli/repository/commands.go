// Package repository has the commands for Repositories.
package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Commands returns the commands for Repositories.
func Commands(s *session.Session) []*cobra.Command { return []*cobra.Command{fetchCommand(s)} }

func fetchCommand(s *session.Session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "fetch REPOSITORY...",
		Short: "Fetch a Repository now, and wait until it is fetched",
		Long: `Requests a fetch of a Repository and waits until it ends. A new commit starts the Runs of the Stacks that it
changes. If the fetch fails, the command prints why. Needs no other verb than patch on the Repository.`,
		Example: s.Examples(`
			cairn fetch infra
			cairn fetch infra modules`),
		Args: s.MaxArgs(session.MostNames),
		ValidArgsFunction: s.Complete(func(ctx context.Context, s *session.Session, _ []string) ([]string, error) {
			return s.CompleteNames(ctx, nil, &v1alpha1.RepositoryList{})
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			var failed []error
			for _, arg := range args {
				err := fetch(cmd.Context(), s, arg, timeout)
				if cmd.Context().Err() != nil {
					return session.Interrupted("interrupted; the request stays")
				}
				failed = append(failed, err)
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait until the fetch ends")
	return cmd
}

func fetch(ctx context.Context, s *session.Session, arg string, timeout time.Duration) error {
	r, err := s.Repository(ctx, arg)
	if err != nil {
		return err
	}
	request := action.Now(s.Now())
	if err := s.Patch(ctx, r, action.FetchRepository(request)); err != nil {
		return fmt.Errorf("the fetch of Repository %s is not requested: %w", r.Name,
			s.Denied(err, "repositories", "patch"))
	}
	now := &v1alpha1.Repository{}
	inTime, err := session.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(r), now)
		return err == nil && runinfo.Settled(now.Status.LastHandledRequest, request), err
	})
	switch {
	case !inTime:
		return fmt.Errorf("the fetch of Repository %s did not end within %s: `%s describe repo/%s` shows why",
			r.Name, timeout, s.Command(), r.Name)
	case err != nil:
		return err
	}
	ready := apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		reason, message := "unknown", ""
		if ready != nil {
			reason, message = ready.Reason, screen.Clean(ready.Message)
		}
		return fmt.Errorf("the Repository %s is not ready: %s: %s", r.Name, reason, message)
	}
	_, err = fmt.Fprintf(s.Text(), "Repository %s is fetched: %s.\n", r.Name, screen.Clean(ready.Message))
	return err
}
