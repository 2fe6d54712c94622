package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func stateRestoreCommand(s *session) *cobra.Command {
	var (
		forget, yes bool
		format      string
	)
	cmd := &cobra.Command{
		Use:   "restore STACK",
		Short: "Take the backup of a Stack's state that Cairn does not take by itself",
		Long: `The bucket has a backup of each state. When Kubernetes has forgotten one, as when etcd is restored, Cairn puts it back by itself. It does not
when the backup is of another Stack of that name, or when both went their own ways: then nothing is planned until somebody who runs Cairn takes
the backup, or forgets it. That is for them, since it may have secrets of another owner of the name: it takes verb restore on states, which no role of
the chart has.`,
		Example: s.examples(`
			cairn state restore net
			cairn state restore net --forget`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.complete(completeStates),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML); err != nil {
				return err
			}
			return s.stateRestore(cmd.Context(), args[0], forget, yes, format)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "forget the backup: the state counts as it is, or there is none")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	yesFlag(cmd, &yes)
	return cmd
}

func (s *session) stateRestore(ctx context.Context, arg string, forget, yes bool, format string) error {
	key, err := s.stateName(arg)
	if err != nil {
		return err
	}
	question := "Put the backup in the place of the state of Stack %s?"
	if forget {
		question = "Forget the backup of the state of Stack %s? What it knows of is then nobody's."
	}
	if err := s.agree(ctx, yes, true, fmt.Sprintf(question, key.Name)); err != nil {
		return err
	}
	server, err := s.server(ctx)
	if err != nil {
		return err
	}
	made, err := server.RestoreState(ctx, key.Namespace, key.Name, forget)
	if err != nil {
		return s.explainServer(err)
	}
	if forget && made.Version == 0 {
		fmt.Fprintf(s.Out, "Stack %s has no state.\n", key.Name)
		return nil
	}
	return s.tellVersion(format, key, made)
}
