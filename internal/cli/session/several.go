package session

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// MostNames is how many names a command takes.
const MostNames = 1000

// Several lets a command of one name take several. It continues after an error, and returns all of them; errors are
// more important than changes that wait.
func (s *Session) Several(cmd *cobra.Command, complete Completion) *cobra.Command {
	one := cmd.RunE
	cmd.Args = s.MaxArgs(MostNames)
	cmd.ValidArgsFunction = s.Complete(func(ctx context.Context, s *Session, _ []string) ([]string, error) {
		return complete(ctx, s, nil)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return one(cmd, args)
		}
		var failed []error
		var changes error
		for _, name := range args {
			switch err := one(cmd, []string{name}); {
			case cmd.Context().Err() != nil:
				return err
			case errors.Is(err, ErrChanges):
				changes = err
			default:
				failed = append(failed, err)
			}
		}
		return cmp.Or(errors.Join(failed...), changes)
	}
	return cmd
}
