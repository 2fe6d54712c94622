// Package pipeline has the commands for Pipelines.
package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/promotion"
)

// Commands returns the commands for Pipelines.
func Commands(s *session.Session) []*cobra.Command { return []*cobra.Command{promoteCommand(s)} }

func promoteCommand(s *session.Session) *cobra.Command {
	var release string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "promote PIPELINE STAGE",
		Short: "Promote a release to a stage of a Pipeline",
		Long: `Promotes a release to a stage: its Stacks then plan the commit of the release under their own rules. An earlier
release than the stage has is a rollback, which stops automatic promotion to the stage until a newer one is promoted.
Requires the verb promote on the Pipeline.`,
		Example: s.Examples(`
			cairn promote shop production
			cairn promote shop production --release 1f3c9a2`),
		Args: session.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: s.Complete(func(ctx context.Context, s *session.Session, args []string) ([]string, error) {
			return s.CompleteNames(ctx, args, &v1alpha1.PipelineList{})
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return promote(cmd.Context(), s, args[0], args[1], release, timeout)
		},
	}
	cmd.Flags().StringVar(&release, "release", "",
		"the commit of the release, or how it begins (default: the newest that the stage can get)")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait until the stage has the release")
	return cmd
}

func promote(ctx context.Context, s *session.Session, name, stage, prefix string, timeout time.Duration) error {
	p, err := get(ctx, s, name)
	if err != nil {
		return err
	}
	commit, err := commitOf(p, stage, prefix)
	if err != nil {
		return err
	}
	by, err := s.User(ctx)
	if err != nil {
		return err
	}
	q := promotion.Request{At: action.Now(s.Now()), Stage: stage, Commit: commit, By: by}
	if why := promotion.Check(p, q, s.Now()); why != "" {
		return fmt.Errorf("nothing is promoted: %s", why)
	}
	if err := s.Patch(ctx, p, action.PromoteRelease(q)); err != nil {
		return fmt.Errorf("nothing is promoted: %w", s.Denied(err, "pipelines", "promote"))
	}
	now := &v1alpha1.Pipeline{}
	inTime, err := session.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(p), now)
		last := now.Status.LastHandledRequest
		return err == nil && last != nil && last.Value == q.At, err
	})
	switch {
	case !inTime:
		return fmt.Errorf("the promotion is requested, and was not handled within %s: `kubectl describe pipeline %s` "+
			"shows why", timeout, name)
	case err != nil:
		return err
	case now.Status.LastHandledRequest.Rejected:
		return fmt.Errorf("the promotion is rejected: `kubectl describe pipeline %s` shows why", name)
	}
	_, err = fmt.Fprintf(s.Text(), "Stage %s of Pipeline %s has release %.12s.\n", stage, name, commit)
	return err
}

// commitOf returns the release that a user means: the newest one that the stage can get, or one whose commit begins so.
func commitOf(p *v1alpha1.Pipeline, stage, prefix string) (string, error) {
	if prefix == "" {
		if s := p.Stage(stage); s != nil && s.Next != "" {
			return s.Next, nil
		}
		return "", noNext(p, stage)
	}
	var found []string
	for _, r := range p.Status.Releases {
		if strings.HasPrefix(r.Commit, prefix) {
			found = append(found, r.Commit)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no release of Pipeline %s begins with %q", p.Name, prefix)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d releases of Pipeline %s begin with %q: write more of the commit", len(found),
		p.Name, prefix)
}

// noNext returns why a stage can get no release without --release.
func noNext(p *v1alpha1.Pipeline, stage string) error {
	var names []string
	for _, s := range p.Spec.Stages {
		names = append(names, s.Name)
	}
	position := slices.Index(names, stage)
	status := p.Stage(stage)
	switch {
	case position < 0:
		return fmt.Errorf("no stage of Pipeline %s is called %q: it has %s", p.Name, stage, strings.Join(names, ", "))
	case status != nil && status.Release != "":
		return fmt.Errorf("stage %s of Pipeline %s has release %.12s, and can get no newer one; --release promotes "+
			"an earlier one",
			stage, p.Name, status.Release)
	case position == 0:
		return fmt.Errorf("no release of Pipeline %s exists yet: `kubectl describe pipeline %s` shows why", p.Name,
			p.Name)
	}
	return fmt.Errorf("stage %s of Pipeline %s can get no release: stage %s has completed none", stage, p.Name,
		names[position-1])
}

// get returns a Pipeline of the namespace.
func get(ctx context.Context, s *session.Session, name string) (*v1alpha1.Pipeline, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	p := &v1alpha1.Pipeline{}
	err = s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, p)
	if err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "pipeline")
	}
	return p, nil
}
