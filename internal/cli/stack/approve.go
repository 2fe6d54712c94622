package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// reviewed are the flags of a decision about the plan of a Run: without one of them the user is asked.
type reviewed struct {
	digest string
	yes    bool
}

func (d *reviewed) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.digest, "digest", "", "digest of the plan that you read, or its first 40 digits; another plan "+
		"is rejected")
	f.BoolVarP(&d.yes, "yes", "y", false, "decide about the plan that is shown, without asking")
	all := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if d.digest != "" && len(args) > 1 {
			return errors.New("--digest is of the plan of one Run: use it with one name")
		}
		return all(cmd, args)
	}
}

// confirm returns nil if the user decides about the plan of a Run as it was read: they named its digest, or confirm it
// below its summary. verb is what they decide.
func (d *reviewed) confirm(ctx context.Context, s *session.Session, run *v1alpha1.Run, verb string) error {
	plan := run.Status.Plan
	switch {
	case d.digest != "":
		if err := approval.CheckDigest(plan.Digest, d.digest); err != nil {
			return fmt.Errorf("%w: its plan is now %s; `%s diff %s` shows it",
				err, runinfo.Summary(plan), s.Command(), run.Name)
		}
		return nil
	case d.yes:
		return nil
	case !s.TTY:
		return fmt.Errorf("without a terminal a command decides about a plan by its digest: its plan is %s; "+
			"after you read it, use `%s`, or --yes for the plan that the command shows", runinfo.Summary(plan),
			planCommandOf(s, verb, run))
	}
	question := fmt.Sprintf("%s this plan? Enter 'yes' to confirm:", strings.ToUpper(verb[:1])+verb[1:])
	ok, err := askToApprove(ctx, s, run, question, "yes")
	if err == nil && !ok {
		fmt.Fprintf(s.ErrOut, "Nothing was done: Run %s waits.\n", run.Name)
		return session.ErrChanges
	}
	return err
}

// planCommandOf returns the command that decides about the plan of a Run, and about no other.
func planCommandOf(s *session.Session, verb string, run *v1alpha1.Run) string {
	return fmt.Sprintf("%s %s %s --digest %s", s.Command(), verb, run.Name, approval.Short(run.Status.Plan.Digest))
}

func approveCommand(s *session.Session) *cobra.Command {
	var (
		d          reviewed
		show, wait bool
	)
	cmd := onRun(s, &cobra.Command{
		Use:   "approve STACK|RUN...",
		Short: "Approve the plan that waits, so that exactly it is applied",
		Long: `Approves the current plan of a Run, and no other: a new plan of the Run needs a new approval. It shows the
summary of the plan and asks. With --digest it approves the plan that you read before, without asking; cairn diff prints
that command. Without a terminal it needs --digest, or --yes for the plan that it shows. Of several names, each is
approved in turn, also after an error. Needs the verb approve on the Run.`,
		Example: s.Examples(`
			cairn approve net
			cairn approve net dns --show
			cairn approve net-7 --digest 1f3c8a0e5b7d2946c1a3f58e0d9b7c6a4e2f1083 --wait`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := checkPending(s, run); err != nil {
			return err
		}
		return approvePending(ctx, s, run, &d, show, wait)
	})
	f := cmd.Flags()
	f.BoolVar(&show, "show", false, "show the whole plan first")
	f.BoolVar(&wait, "wait", false, "follow the Run to its end")
	s.Several(cmd, completePending)
	d.addFlags(cmd)
	return cmd
}

// completePending completes Runs whose plan waits for a decision, and their Stacks.
var completePending = session.CompleteRunsThat(func(run *v1alpha1.Run) bool {
	return approval.Pending(run) && !approval.IsSent(run)
})

func approvePending(ctx context.Context, s *session.Session, run *v1alpha1.Run, d *reviewed, show, wait bool) error {
	if err := screen.Plan(s.Text(), run, s.Style()); err != nil {
		return err
	}
	if show {
		fmt.Fprintln(s.Text())
		if err := showPlan(ctx, s, run, ""); err != nil {
			return err
		}
	}
	err := d.confirm(ctx, s, run, action.Approve)
	if err == nil {
		err = approve(ctx, s, run, run.Status.Plan.Digest)
	}
	if err != nil {
		return notApproved(s, run, err)
	}
	fmt.Fprintf(s.Text(), "Run %s is approved by %s.\n", run.Name, run.Spec.Approval.By)
	if !wait {
		return nil
	}
	run, err = follow(ctx, s, run, finished)
	if err != nil {
		return err
	}
	return printResult(s, run)
}

// askToApprove asks the user to approve the plan of a Run, below the resources that it destroys and replaces.
func askToApprove(ctx context.Context, s *session.Session, run *v1alpha1.Run, question, want string) (bool, error) {
	if s.TTY {
		style := s.Style()
		style.Color = s.ColorErr
		if err := screen.Destroyed(s.ErrOut, run.Status.Plan, style); err != nil {
			return false, err
		}
	}
	return s.Ask(ctx, question, want)
}

// approve writes the approval of the plan with a digest.
func approve(ctx context.Context, s *session.Session, run *v1alpha1.Run, digest string) error {
	user, err := s.User(ctx)
	if err != nil {
		return err
	}
	if err := action.CheckApproval(run, user); err != nil {
		return err
	}
	return s.Denied(s.Patch(ctx, run, action.ApproveRun(digest, user)), "runs", action.Approve)
}

// checkPending returns an error unless a Run waits for an approval.
func checkPending(s *session.Session, run *v1alpha1.Run) error {
	switch {
	case !approval.Pending(run):
		return fmt.Errorf("no plan waits for an approval: %s", screen.Line(run, s.Style()))
	case approval.IsSent(run):
		return fmt.Errorf("the Run %s is approved already, by %s: %s",
			run.Name, screen.Clean(approval.Given(run).By), screen.Line(run, s.Style()))
	}
	return nil
}

func rejectCommand(s *session.Session) *cobra.Command {
	var (
		d      reviewed
		reason string
	)
	cmd := onRun(s, &cobra.Command{
		Use:   "reject STACK|RUN...",
		Short: "Reject the plan that waits: its Run ends, and nothing is applied",
		Long: `Ends a Run that waits for an approval. Nothing is applied until the Stack changes or a user requests a Run. It
shows the summary of the plan and asks. Without a terminal it needs the digest of the plan that you read, or --yes for the
plan that it shows. Of several names, each is rejected in turn, also after an error. Needs the verb reject on the Run.`,
		Example: s.Examples(`
			cairn reject net --reason "not on a Friday"
			cairn reject net dns`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := checkPending(s, run); err != nil {
			return err
		}
		return rejectPending(ctx, s, run, &d, reason)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the author of the change")
	s.Several(cmd, completePending)
	d.addFlags(cmd)
	return cmd
}

func rejectPending(ctx context.Context, s *session.Session, run *v1alpha1.Run, d *reviewed, reason string) error {
	if err := screen.Plan(s.Text(), run, s.Style()); err != nil {
		return err
	}
	user := ""
	err := d.confirm(ctx, s, run, action.Reject)
	if err == nil {
		user, err = s.User(ctx)
	}
	if err == nil {
		err = s.Denied(s.Patch(ctx, run, action.RejectRun(run.Status.Plan.Digest, user, reason)), "runs", action.Reject)
	}
	switch {
	case errors.Is(err, session.ErrChanges):
		return err
	case errors.Is(err, context.Canceled):
		return session.Interrupted("interrupted; Run %s waits", run.Name)
	case err != nil:
		return fmt.Errorf("the Run %s is not rejected: %w", run.Name, err)
	}
	_, err = fmt.Fprintf(s.Text(), "Run %s is rejected by %s; `%s apply %s` requests another one.\n",
		run.Name, screen.Clean(user), s.Command(), run.Spec.Stack.Name)
	return err
}
