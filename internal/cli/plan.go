package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
)

func planCommand(s *session) *cobra.Command {
	var how showing
	cmd := &cobra.Command{
		Use:   "plan STACK",
		Short: "Plan a Stack as it is declared now, and show the plan; nothing is applied",
		Long: `Asks for a Run that only plans, follows it and shows its plan. Nothing is applied, and a plan that waits for an approval
goes on waiting. The exit code is 2 when the plan has changes. It takes the verb plan on the Stack.`,
		Example: s.examples(`
			cairn plan net
			cairn plan net --raw
			cairn plan net -o json`),
		Args:              s.takes(1),
		ValidArgsFunction: s.complete(completeStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := how.check(); err != nil {
				return err
			}
			ctx := cmd.Context()
			stack, err := s.stack(ctx, args[0])
			if err != nil {
				return err
			}
			run, err := s.requested(ctx, stack, v1alpha1.OperationPlan)
			if err != nil {
				return err
			}
			if run, err = s.follow(ctx, run, finished); err != nil {
				return err
			}
			if err := s.outcome(run); err != nil {
				if run.Status.Plan != nil { // a policy denied it
					return errors.Join(s.showPlan(ctx, run, how), err)
				}
				return err
			}
			if err := s.showPlan(ctx, run, how); err != nil {
				return err
			}
			return changesWait(run)
		},
	}
	how.addFlags(cmd)
	return cmd
}

// addFlags gives a command the flags that say how a plan is shown.
func (h *showing) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&h.raw, "raw", false, "show the engine's own text")
	cmd.Flags().StringVarP(&h.format, "output", "o", "", "json or yaml")
}

func (h *showing) check() error {
	if h.raw && h.format != "" {
		return errors.New("--raw is text for people: leave it out, or -o")
	}
	return checkFormat(h.format, formatJSON, formatYAML)
}
