package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/run/runinfo"
)

func historyCommand(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "history STACK",
		Short: "Show the Runs of a Stack, newest first",
		Example: s.examples(`
			cairn history net
			cairn history net -o wide`),
		Args:              s.takes(1),
		ValidArgsFunction: s.complete(completeStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML, formatWide, formatName); err != nil {
				return err
			}
			stack, err := s.stack(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			runs, err := s.runs(cmd.Context(), stack.Namespace, stack.Name)
			switch {
			case err != nil:
				return err
			case format != "" && format != formatWide:
				return s.printList(format, &v1alpha1.RunList{Items: runs}, false)
			case len(runs) == 0:
				fmt.Fprintf(s.ErrOut, "The Stack %s never had a Run: `%s why %s` says why.\n", stack.Name, s.program, stack.Name)
				return nil
			}
			return s.printTable(screen.History(runs, s.style()), format == formatWide, false)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json, yaml, wide or name")
	return cmd
}

// runs are those of a Stack, newest first.
func (s *session) runs(ctx context.Context, ns, stack string) ([]v1alpha1.Run, error) {
	c, err := s.kubernetes()
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.RunList{}
	if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
		return nil, s.explain(err)
	}
	runs := slices.DeleteFunc(list.Items, func(r v1alpha1.Run) bool { return r.Spec.Stack.Name != stack })
	slices.SortFunc(runs, func(a, b v1alpha1.Run) int { return cmp.Compare(runinfo.Number(b.Name), runinfo.Number(a.Name)) })
	return runs, nil
}
