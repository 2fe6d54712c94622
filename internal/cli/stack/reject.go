package stack

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func rejectCommand(s *session.Session) *cobra.Command {
	var digest, reason string
	cmd := &cobra.Command{
		Use:   "reject STACK|RUN",
		Short: "Reject the plan that waits: its Run ends, and nothing is applied",
		Long: `Ends a Run that waits for an approval. The Stack stays as it is until it changes, or somebody asks for a Run. It takes the
verb reject on the Run.`,
		Example: s.Examples(`
			cairn reject net --reason "not on a Friday"`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacksAndRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, run, err := s.StackOrRun(ctx, args[0])
			if err != nil {
				return err
			}
			if err := waits(s, stack, run); err != nil {
				return err
			}
			who, err := s.User(ctx)
			if err != nil {
				return err
			}
			if digest == "" {
				digest = run.Status.Plan.Digest
			}
			if err := s.Patch(ctx, run, action.RejectRun(digest, who, reason)); err != nil {
				return fmt.Errorf("the Run %s is not rejected: %w", run.Name, err)
			}
			fmt.Fprintf(s.Out, "Run %s is rejected by %s; `%s apply %s` asks for another one.\n", run.Name, screen.Clean(who), s.Program, run.Spec.Stack.Name)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&reason, "reason", "", "why, for those who wanted the change")
	f.StringVar(&digest, "digest", "", "digest of the plan that was read; another one is refused. Default: the plan that the Run has now")
	return cmd
}
