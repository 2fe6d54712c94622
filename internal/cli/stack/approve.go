package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/approval"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

// digestUsage describes the flag --digest of approve and reject.
const digestUsage = "digest of the plan that you read; another plan is rejected. Default: the current plan of the Run"

// approveOptions are the flags of approve.
type approveOptions struct {
	digest     string
	show, wait bool
}

func approveCommand(s *session.Session) *cobra.Command {
	var o approveOptions
	cmd := onRun(s, &cobra.Command{
		Use:   "approve STACK|RUN...",
		Short: "Approve the plan that waits, so that exactly it is applied",
		Long: `Approves the current plan of a Run, and no other: a new plan of the Run needs a new approval. Set the digest
of the plan that you read to approve only that plan. Of several names, each is approved in turn, also after an error.
Needs the verb approve on the Run.`,
		Example: s.Examples(`
			cairn approve net
			cairn approve net dns --show
			cairn approve net --show
			cairn approve net-7 --digest sha256:1f3c... --wait`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := checkPending(s, run); err != nil {
			return err
		}
		return approvePending(ctx, s, run, o)
	})
	f := cmd.Flags()
	f.StringVar(&o.digest, "digest", "", digestUsage)
	f.BoolVar(&o.show, "show", false, "show the whole plan first and, on a terminal, ask")
	f.BoolVar(&o.wait, "wait", false, "follow the Run to its end")
	several(s, cmd, session.CompleteStacksAndRuns)
	all := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.digest != "" && len(args) > 1 {
			return errors.New("--digest is of the plan of one Run: use it with one name")
		}
		return all(cmd, args)
	}
	return cmd
}

func approvePending(ctx context.Context, s *session.Session, run *v1alpha1.Run, o approveOptions) error {
	if err := screen.Plan(s.Text(), run, s.Style()); err != nil {
		return err
	}
	o.digest = cmp.Or(o.digest, run.Status.Plan.Digest)
	if o.show {
		fmt.Fprintln(s.Text())
		if err := showPlan(ctx, s, run, ""); err != nil {
			return err
		}
	}
	if o.show && s.TTY {
		ok, err := askToApprove(ctx, s, run, "Approve this plan? Enter 'yes' to confirm:", "yes")
		if err != nil {
			return notApproved(s, run, err)
		}
		if !ok {
			fmt.Fprintf(s.ErrOut, "Run %s is not approved, and waits.\n", run.Name)
			return session.ErrChanges
		}
	}
	if err := approve(ctx, s, run, o.digest); err != nil {
		return notApproved(s, run, err)
	}
	fmt.Fprintf(s.Text(), "Run %s is approved by %s.\n", run.Name, run.Spec.Approval.By)
	if !o.wait {
		return nil
	}
	run, err := follow(ctx, s, run, finished)
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
	stack := &v1alpha1.Stack{}
	key := client.ObjectKey{Namespace: run.Namespace, Name: run.Spec.Stack.Name}
	if err := s.Get(ctx, key, stack); session.IgnoreUnreadable(err) != nil {
		return err
	}
	if err := action.CheckApproval(run, stack, user); err != nil {
		return err
	}
	return s.Patch(ctx, run, action.ApproveRun(digest, user))
}

// checkPending returns an error unless a Run waits for an approval.
func checkPending(s *session.Session, run *v1alpha1.Run) error {
	switch {
	case !approval.Pending(run):
		return fmt.Errorf("no plan waits for an approval: %s", screen.Line(run, s.Style()))
	case screen.Approved(run) && !stillAwaits(run):
		return fmt.Errorf("the Run %s is approved already, by %s: %s",
			run.Name, screen.Clean(run.Spec.Approval.By), screen.Line(run, s.Style()))
	}
	return nil
}

// stillAwaits returns whether the operator has seen the approval of a Run, and waits for another one: the approval does
// not count, such as by the rule of its Stack, which the user may not read.
func stillAwaits(run *v1alpha1.Run) bool {
	succeeded := screen.Succeeded(run)
	return succeeded.Reason == v1alpha1.ReasonAwaitingApproval && succeeded.ObservedGeneration == run.Generation
}

func rejectCommand(s *session.Session) *cobra.Command {
	var digest, reason string
	cmd := onRun(s, &cobra.Command{
		Use:   "reject STACK|RUN",
		Short: "Reject the plan that waits: its Run ends, and nothing is applied",
		Long: `Ends a Run that waits for an approval. Nothing is applied until the Stack changes or a user requests a Run.
Needs the verb reject on the Run.`,
		Example: s.Examples(`
			cairn reject net --reason "not on a Friday"`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := checkPending(s, run); err != nil {
			return err
		}
		user, err := s.User(ctx)
		if err != nil {
			return err
		}
		digest = cmp.Or(digest, run.Status.Plan.Digest)
		if err := s.Patch(ctx, run, action.RejectRun(digest, user, reason)); err != nil {
			return fmt.Errorf("the Run %s is not rejected: %w", run.Name, err)
		}
		_, err = fmt.Fprintf(s.Text(), "Run %s is rejected by %s; `%s apply %s` requests another one.\n",
			run.Name, screen.Clean(user), s.Command(), run.Spec.Stack.Name)
		return err
	})
	f := cmd.Flags()
	f.StringVar(&reason, "reason", "", "reason for the author of the change")
	f.StringVar(&digest, "digest", "", digestUsage)
	return cmd
}
