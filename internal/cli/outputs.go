package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
)

func outputsCommand(s *session) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "outputs STACK [NAME]",
		Short: "Show the outputs of a Stack that are not sensitive",
		Long: `Shows the outputs of the last apply that the Stack's status has: those that are not sensitive and not long. It says which
ones it leaves out; spec.outputs of a Stack writes all of them to a Secret. Of one output a string is printed as it is.`,
		Example: s.examples(`
			cairn outputs net
			cairn outputs net vpc_id
			cairn outputs net -o json`),
		Args:              s.takes(2),
		ValidArgsFunction: s.complete(completeOutputs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML); err != nil {
				return err
			}
			ctx := cmd.Context()
			stack, err := s.stack(ctx, args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return s.output(ctx, stack, args[1], format)
			}
			if format != "" {
				values := map[string]json.RawMessage{}
				for name, value := range stack.Status.Outputs {
					values[name] = value.Raw
				}
				err = s.printValue(format, values)
			} else {
				err = screen.Outputs(s.Out, stack, s.style())
			}
			if err != nil {
				return err
			}
			return s.sayLeftOut(ctx, stack)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	return cmd
}

// output prints one output.
func (s *session) output(ctx context.Context, stack *v1alpha1.Stack, name, format string) error {
	value, ok := stack.Status.Outputs[name]
	switch {
	case !ok:
		if err := s.sayLeftOut(ctx, stack); err != nil {
			return err
		}
		return fmt.Errorf("there is no output %s among those of Stack %s that can be shown: `%s outputs %s` lists them", name, stack.Name, s.program, stack.Name)
	case format != "":
		return s.printValue(format, json.RawMessage(value.Raw))
	}
	_, err := fmt.Fprintln(s.Out, screen.Output(value.Raw))
	return err
}

// sayLeftOut says on standard error which outputs are not shown.
func (s *session) sayLeftOut(ctx context.Context, stack *v1alpha1.Stack) error {
	c, err := s.kubernetes()
	if err != nil {
		return err
	}
	state := &v1alpha1.State{}
	if err := ignoreGone(c.Get(ctx, client.ObjectKeyFromObject(stack), state)); err != nil {
		return s.explain(err)
	}
	if text := screen.OutputsLeftOut(stack, state); text != "" {
		fmt.Fprintln(s.ErrOut, text)
	}
	return nil
}
