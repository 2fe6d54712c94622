package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/plan"
	"cairn.dev/cairn/internal/userapi"
)

// planFormat is the format in which a plan is shown.
type planFormat struct {
	// raw selects the engine's own text.
	raw bool
	// output is json or yaml; empty for text.
	output string
}

func (f *planFormat) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.raw, "raw", false, "show the engine's own text")
	session.AddFormatFlag(cmd, &f.output)
	cmd.MarkFlagsMutuallyExclusive("raw", "output")
}

// showPlan shows the plan of a Run, and the findings of policies.
func showPlan(ctx context.Context, s *session.Session, r *v1alpha1.Run, format planFormat) error {
	if r.Status.Plan == nil {
		return fmt.Errorf("the Run %s has no plan: %s", r.Name, screen.Line(r, s.Style()))
	}
	if format.raw && r.Status.Plan.Changes {
		return showRaw(ctx, s, r)
	}
	var view plan.View
	if r.Status.Plan.Changes {
		var err error
		view, err = session.Call(ctx, s, func(server *userapi.Client) (plan.View, error) {
			return server.Plan(ctx, r.Namespace, r.Name)
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return showSummary(s, r, err)
		}
	}
	if format.output != "" {
		return s.PrintValue(format.output, view)
	}
	if !r.Status.Plan.Changes {
		_, err := fmt.Fprintf(s.Out, "No changes: Run %s found no difference.\n", r.Name)
		return err
	}
	if err := view.Write(s.Out, plan.Style{Color: s.Color}); err != nil {
		return err
	}
	return screen.Findings(s.Out, r, s.Style())
}

// showSummary shows the summary of a plan in the Run's status, if the server does not return the plan.
func showSummary(s *session.Session, r *v1alpha1.Run, why error) error {
	if err := screen.Plan(s.Out, r, s.Style()); err != nil {
		return err
	}
	return fmt.Errorf("only the summary of the plan is shown: %w", why)
}

// showRaw shows the plan as the engine printed it.
func showRaw(ctx context.Context, s *session.Session, r *v1alpha1.Run) error {
	text, err := session.Call(ctx, s, func(server *userapi.Client) (io.ReadCloser, error) {
		return server.PlanForm(ctx, r.Namespace, r.Name, userapi.FormText)
	})
	if err != nil {
		return err
	}
	defer text.Close()
	return writeRaw(s, text)
}

// writeRaw writes an engine's text. For a terminal it removes control characters, which may be from untrusted values;
// to a pipe it writes the text unchanged.
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
