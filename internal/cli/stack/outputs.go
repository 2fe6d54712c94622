package stack

import (
	"context"
	"encoding/json"
	"fmt"
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
		Long: `Shows the outputs of the last apply that the Stack's status has: those that are not sensitive and not long. It says which
ones it leaves out; spec.outputs of a Stack writes all of them to a Secret. Of one output a string is printed as it is.`,
		Example: s.Examples(`
			cairn outputs net
			cairn outputs net vpc_id
			cairn outputs net -o json`),
		Args:              s.MaxArgs(2),
		ValidArgsFunction: s.Complete(completeOutputs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(format, session.FormatJSON, session.FormatYAML); err != nil {
				return err
			}
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
				err = screen.Outputs(s.Out, stack, s.Style())
			}
			if err != nil {
				return err
			}
			return sayLeftOut(ctx, s, stack)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	return cmd
}

// printOutput prints one output.
func printOutput(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, name, format string) error {
	value, ok := stack.Status.Outputs[name]
	switch {
	case !ok:
		if err := sayLeftOut(ctx, s, stack); err != nil {
			return err
		}
		return fmt.Errorf("there is no output %s among those of Stack %s that can be shown: `%s outputs %s` lists them", name, stack.Name, s.Program, stack.Name)
	case format != "":
		return s.PrintValue(format, json.RawMessage(value.Raw))
	}
	_, err := fmt.Fprintln(s.Out, screen.Output(value.Raw))
	return err
}

// sayLeftOut says on standard error which outputs are not shown.
func sayLeftOut(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	state := &v1alpha1.State{}
	if err := session.IgnoreUnreadable(c.Get(ctx, client.ObjectKeyFromObject(stack), state)); err != nil {
		return s.Explain(err)
	}
	if text := screen.OutputsLeftOut(stack, state); text != "" {
		fmt.Fprintln(s.ErrOut, text)
	}
	return nil
}

// completeOutputs is for outputs: a Stack, and then one of its outputs.
func completeOutputs(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	if len(args) != 1 {
		return session.CompleteStacks(ctx, s, args)
	}
	stack, err := s.Stack(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range stack.Status.Outputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
