// Package driftpause has the commands for the corrections of drift.
package driftpause

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
)

// Command returns the commands for the corrections of drift.
func Command(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "drift", Short: "Resume corrections of drift"}
	cmd.AddCommand(ResumeCommand(s))
	return cmd
}

// patience is how long the command waits until the corrections continue.
const patience = time.Minute

// ResumeCommand returns the command that resumes the corrections of drift in a namespace.
func ResumeCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Resume the corrections of drift in a namespace after MassDrift",
		Long: `Resumes the corrections of drift (spec.drift.onDrift: Apply) in a namespace. Cairn pauses them when an unusual
number of its Stacks begins to drift within an hour. Needs the verb resume on the DriftPause.`,
		Example: s.Examples(`
			cairn drift resume -n shop`),
		Args:              session.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return resume(cmd.Context(), s) },
	}
}

func resume(ctx context.Context, s *session.Session) error {
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	pause := &v1alpha1.DriftPause{}
	pause.Namespace, pause.Name = namespace, v1alpha1.DriftPauseName
	err = s.Get(ctx, client.ObjectKeyFromObject(pause), pause)
	if apierrors.IsNotFound(err) || err == nil && pause.Status.Since == nil && pause.Status.Resumed != nil {
		return fmt.Errorf("the corrections of drift in namespace %s are not paused", namespace)
	}
	if err != nil {
		return err
	}
	if pause.Status.Since == nil {
		return fmt.Errorf("the operator did not record the pause in namespace %s yet: try again", namespace)
	}
	user, err := s.User(ctx)
	if err != nil {
		return err
	}
	since := *pause.Status.Since
	if err := s.Patch(ctx, pause, action.ResumeDrift(since, user)); err != nil {
		return s.Denied(err, "driftpauses", action.Resume)
	}
	inTime, err := session.Poll(ctx, patience, func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(pause), pause)
		return err == nil && (pause.Status.Since == nil || !pause.Status.Since.Equal(&since)), err
	})
	if !inTime {
		return fmt.Errorf("the operator did not resume the corrections within %s: `%s get driftpauses -n %s` shows "+
			"whether it does",
			patience, s.Command(), namespace)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Text(), "The corrections of drift in namespace %s are resumed. These Stacks began to "+
		"drift: %s%s.\n",
		namespace, strings.Join(pause.Status.Stacks, ", "), more(pause))
	return err
}

// more is how many Stacks began to drift beside those that the pause names.
func more(p *v1alpha1.DriftPause) string {
	if n := int(p.Status.Drifted) - len(p.Status.Stacks); n > 0 {
		return fmt.Sprintf(" and %d more", n)
	}
	return ""
}
