package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/plan"
)

// showing is how a plan is shown.
type showing struct {
	// raw is the engine's own text.
	raw bool
	// format is json, or empty for people.
	format string
}

// showPlan shows the plan of a Run, and what policies say of it.
func showPlan(ctx context.Context, s *session.Session, r *v1alpha1.Run, how showing) error {
	if r.Status.Plan == nil {
		return fmt.Errorf("there is no plan of Run %s: %s", r.Name, screen.Line(r, s.Style()))
	}
	if how.raw && r.Status.Plan.Changes {
		return showRaw(ctx, s, r)
	}
	var view plan.View
	if r.Status.Plan.Changes {
		server, err := s.Server(ctx)
		if err != nil {
			return planInShort(s, r, err)
		}
		if view, err = server.Plan(ctx, r.Namespace, r.Name); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return planInShort(s, r, s.ExplainServer(err))
		}
	}
	if how.format != "" {
		return s.PrintValue(how.format, view)
	}
	if !r.Status.Plan.Changes {
		_, err := fmt.Fprintf(s.Out, "No changes: Run %s found everything as it is declared.\n", r.Name)
		return err
	}
	if err := view.Write(s.Out, plan.Style{Color: s.Color}); err != nil {
		return err
	}
	return screen.Findings(s.Out, r, s.Style())
}

// planInShort shows what Kubernetes knows of a plan, where the server does not give it.
func planInShort(s *session.Session, r *v1alpha1.Run, why error) error {
	if err := screen.Plan(s.Out, r, s.Style()); err != nil {
		return err
	}
	return fmt.Errorf("this is the plan in short: %w", why)
}

// showRaw shows the plan as its engine printed it.
func showRaw(ctx context.Context, s *session.Session, r *v1alpha1.Run) error {
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	text, err := server.PlanText(ctx, r.Namespace, r.Name)
	if err != nil {
		return s.ExplainServer(err)
	}
	defer text.Close()
	return writeRaw(s, text)
}

// writeRaw writes an engine's text. What strangers put into it must not steer a terminal; what reads a pipe gets it as it is.
func writeRaw(s *session.Session, text io.Reader) error {
	switch {
	case s.Color:
		return plan.Colorize(s.Out, text)
	case !s.Screen:
		_, err := io.Copy(s.Out, text)
		return err
	}
	lines := bufio.NewReader(text)
	for {
		line, err := lines.ReadString('\n')
		clean, ended := strings.CutSuffix(line, "\n")
		clean = screen.Clean(clean)
		if ended {
			clean += "\n"
		}
		if _, err := io.WriteString(s.Out, clean); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// changesWait is the error that is none: a plan has changes.
func changesWait(r *v1alpha1.Run) error {
	if r.Status.Plan != nil && r.Status.Plan.Changes {
		return session.ErrChanges
	}
	return nil
}
