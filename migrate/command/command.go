// Package command has the commands that create Stacks from objects of other systems and from code: `cairn migrate`,
// `cairn generate`, and `cairn-migrate hooks` for metacontroller.
package command

import (
	"context"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/migration"
	"cairn.dev/cairn/internal/cli/session"
)

// New returns the root command of cairn-migrate. It is that of cairn with these commands alone, so that messages and
// examples are the same.
func New(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{Short: "Creates Stacks from objects of other systems, and from code"}
	s.Root(cmd)
	for _, c := range migration.Commands(s, migration.Actions{
		Migrate: func(ctx context.Context, o migration.MigrateOptions) error { return convertObjects(ctx, s, o) },
		Generate: func(ctx context.Context, directory string, o migration.GenerateOptions) error {
			return generateFrom(ctx, s, directory, o)
		},
	}) {
		s.AddFlags(c.PersistentFlags())
		cmd.AddCommand(c)
	}
	cmd.AddCommand(hooksCommand())
	return cmd
}
