package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
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
func (s *session) showPlan(ctx context.Context, r *v1alpha1.Run, how showing) error {
	if r.Status.Plan == nil {
		return fmt.Errorf("there is no plan of Run %s: %s", r.Name, screen.Line(r, s.style()))
	}
	if how.raw && r.Status.Plan.Changes {
		return s.showRaw(ctx, r)
	}
	var view plan.View
	if r.Status.Plan.Changes {
		server, err := s.server(ctx)
		if err != nil {
			return s.planInShort(r, err)
		}
		if view, err = server.Plan(ctx, r.Namespace, r.Name); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return s.planInShort(r, s.explainServer(err))
		}
	}
	if how.format != "" {
		return s.printValue(how.format, view)
	}
	if !r.Status.Plan.Changes {
		_, err := fmt.Fprintf(s.Out, "No changes: Run %s found everything as it is declared.\n", r.Name)
		return err
	}
	if err := view.Write(s.Out, plan.Style{Color: s.color}); err != nil {
		return err
	}
	return screen.Findings(s.Out, r, s.style())
}

// planInShort shows what Kubernetes knows of a plan, where the server does not give it.
func (s *session) planInShort(r *v1alpha1.Run, why error) error {
	if err := screen.Plan(s.Out, r, s.style()); err != nil {
		return err
	}
	return fmt.Errorf("this is the plan in short: %w", why)
}

// showRaw shows the plan as its engine printed it.
func (s *session) showRaw(ctx context.Context, r *v1alpha1.Run) error {
	server, err := s.server(ctx)
	if err != nil {
		return err
	}
	text, err := server.PlanText(ctx, r.Namespace, r.Name)
	if err != nil {
		return s.explainServer(err)
	}
	defer text.Close()
	return s.writeRaw(text)
}

// writeRaw writes an engine's text. What strangers put into it must not steer a terminal; what reads a pipe gets it as it is.
func (s *session) writeRaw(text io.Reader) error {
	switch {
	case s.color:
		return plan.Colorize(s.Out, text)
	case !s.screen:
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
		return exitError{code: exitChanges}
	}
	return nil
}
