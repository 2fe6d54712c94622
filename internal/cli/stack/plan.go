package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/local"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
)

func planCommand(s *session.Session) *cobra.Command {
	var (
		output  string
		workdir local.Plan
		options v1alpha1.PlanOptions
	)
	cmd := &cobra.Command{
		Use:   "plan STACK [flags] [-- ARGUMENTS OF plan]",
		Short: "Plan a Stack in the cluster, or a working directory with --local; nothing is applied",
		Long: `Requests a Run that only plans, follows it and shows its plan. Nothing is applied, and a plan that waits for
an approval continues to wait. Needs the verb plan on the Stack.

With --local DIR no Run is created: the engine on this machine plans the code in DIR, which need not be pushed,
against the state of the Stack. It works in a temporary copy of DIR and of the local modules that its code calls, with
a copy of the state and without a lock, so neither the code nor the state changes. The temporary files are removed at
the end. The plan gets the Stack's variables as far as you may read them: values in the Stack, ConfigMaps and Secrets
with your permissions, outputs of other Stacks through their states. Files of --var-file override them. Providers use
the credentials of this machine, not the Stack's. Needs the verb pull on the State.

Exit codes: 0 no changes, 1 failed, 2 changes.`,
		Example: s.Examples(`
			cairn plan net
			cairn plan net -o json
			cairn plan net --target module.vpc
			cairn plan net --local .
			cairn plan net --local envs/prod/net --root .
			cairn plan net --local . --var-file mine.tfvars -- -target=aws_vpc.this`),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, engineArgs, err := workdir.Split(cmd, args)
			if err != nil {
				return err
			}
			if err := s.MaxArgs(1)(cmd, args); err != nil {
				return err
			}
			set, err := planOptions(&options)
			if err != nil {
				return err
			}
			if workdir.Dir != "" {
				if set != nil {
					return errors.New("--target, --exclude, --replace and --refresh-only are of a plan in the " +
						"cluster: with --local, they are arguments of the engine, as in -- -target=ADDRESS")
				}
				return local.Run(cmd.Context(), s, args[0], workdir, engineArgs)
			}
			return planStack(cmd.Context(), s, args[0], set, output)
		},
	}
	session.AddFormatFlag(cmd, &output)
	workdir.AddFlags(cmd)
	addPlanOptions(cmd, &options)
	return cmd
}

// planStack creates a Run that only plans, and shows its plan.
func planStack(ctx context.Context, s *session.Session, name string, options *v1alpha1.PlanOptions,
	output string) error {
	stack, err := s.Stack(ctx, name)
	if err != nil {
		return err
	}
	run, err := requestRun(ctx, s, stack, v1alpha1.OperationPlan, options)
	if err != nil {
		return err
	}
	if run, err = follow(ctx, s, run, finished); err != nil {
		return err
	}
	if err := outcome(s, run); err != nil {
		if run.Status.Plan != nil { // a policy denied it
			return errors.Join(showPlan(ctx, s, run, output), err)
		}
		return err
	}
	if err := showPlan(ctx, s, run, output); err != nil {
		return err
	}
	return hasChanges(run)
}

func diffCommand(s *session.Session) *cobra.Command {
	var output string
	cmd := onRun(s, &cobra.Command{
		Use:   "diff STACK|RUN|pr/NUMBER...",
		Short: "Show the plan that waits, or else the last one, or those of a pull request; nothing is run",
		Long: `Shows the plan of a Run or, of a Stack, that of its active or else its last Run. Of a pull request, it shows the
plans of all Stacks that it affects. It creates no Run. It ends with the command that approves this plan and no other. The
exit code is 2 if a plan has changes that are not applied. Needs get on runs/plan.`,
		Example: s.Examples(`
			cairn diff net
			cairn diff net-7 -o json
			cairn diff pr/12`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := showPlan(ctx, s, run, output); err != nil {
			return err
		}
		if output == "" && screen.AwaitsApproval(run) {
			fmt.Fprintf(s.Text(), "\nRun %s waits for an approval: %s\n", run.Name,
				planCommandOf(s, action.Approve, run))
		}
		return hasChanges(run)
	})
	onlyRun := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if kind, _ := session.SplitKind(args[0]); kind == "pullrequest" {
			return diffPullRequest(cmd.Context(), s, args[0], output)
		}
		return onlyRun(cmd, args)
	}
	session.AddFormatFlag(cmd, &output)
	return s.Several(cmd, session.CompleteAll)
}

// hasChanges returns ErrChanges for a Run whose plan has changes that it has not applied.
func hasChanges(r *v1alpha1.Run) error {
	if r.Status.Plan != nil && r.Status.Plan.Changes && !screen.IsApplied(r) {
		return session.ErrChanges
	}
	return nil
}
