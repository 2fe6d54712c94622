package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

func outputsCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "outputs STACK [NAME]",
		Short: "Show the outputs of a Stack that are not sensitive",
		Long: `Shows the outputs of the last apply in the Stack's status: those that are neither sensitive nor long. It
lists the names of the others; spec.outputs of a Stack writes all outputs to a Secret. With NAME, a string is printed
without quotes.`,
		Example: s.Examples(`
			cairn outputs net
			cairn outputs net vpc_id
			cairn outputs net -o json`),
		Args:              s.MaxArgs(2),
		ValidArgsFunction: s.Complete(completeOutputs),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, err := s.Stack(ctx, args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return printOutput(ctx, s, stack, args[1], format)
			}
			if format != "" {
				values := map[string]json.RawMessage{}
				for name, value := range stack.Status.Outputs {
					values[name] = value.Raw
				}
				err = s.PrintValue(format, values)
			} else {
				err = screen.Outputs(s.Text(), stack, s.Style())
			}
			if err != nil {
				return err
			}
			return listHidden(ctx, s, stack)
		},
	}
	session.AddFormatFlag(cmd, &format)
	return cmd
}

// printOutput prints one output.
func printOutput(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, name, format string) error {
	value, ok := stack.Status.Outputs[name]
	switch {
	case !ok:
		if err := listHidden(ctx, s, stack); err != nil {
			return err
		}
		return fmt.Errorf("the Stack %[2]s has no output %[1]s that can be shown: `%[3]s outputs %[4]s` lists them",
			name, stack.Name, s.Command(), stack.Name)
	case format != "":
		return s.PrintValue(format, json.RawMessage(value.Raw))
	}
	_, err := fmt.Fprintln(s.Text(), screen.Output(value.Raw))
	return err
}

// listHidden prints the names of the outputs that are not shown to standard error.
func listHidden(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) error {
	state := &v1alpha1.State{}
	if err := session.IgnoreUnreadable(s.Get(ctx, client.ObjectKeyFromObject(stack), state)); err != nil {
		return err
	}
	if text := screen.HiddenOutputs(stack, state); text != "" {
		fmt.Fprintln(s.ErrOut, text)
	}
	return nil
}

// completeOutputs completes a Stack, and then one of its outputs.
func completeOutputs(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	if len(args) != 1 {
		return session.CompleteStacks(ctx, s, args)
	}
	stack, err := s.Stack(ctx, args[0])
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(stack.Status.Outputs)), nil
}
