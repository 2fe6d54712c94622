package cli

import (
	"context"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
)

func describeCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "describe STACK|RUN",
		Aliases: []string{"why"},
		Short:   "Show the details of a Stack or Run: why it is not Ready, and what to do next",
		Example: s.examples(`
			cairn describe net
			cairn describe net-7`),
		Args:              s.takes(1),
		ValidArgsFunction: s.complete(completeStacksAndRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := s.description(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return d.Write(s.Out, s.style())
		},
	}
}

// description gathers what there is to say. What this person may not read is left out.
func (s *session) description(ctx context.Context, arg string) (screen.Description, error) {
	var d screen.Description
	stack, run, err := s.stackOrRun(ctx, arg)
	if err != nil {
		return d, err
	}
	_, name := splitKind(arg)
	d.Stack, d.Run, d.Alone = stack, run, run != nil && run.Name == name && (stack == nil || stack.Name != name)
	if kind, _ := splitKind(arg); kind == "run" {
		d.Alone = true
	}
	var about []client.Object
	if stack != nil && !d.Alone {
		c, err := s.kubernetes()
		if err != nil {
			return d, err
		}
		if d.Runs, err = s.runs(ctx, stack.Namespace, stack.Name); err != nil {
			return d, err
		}
		state := &v1alpha1.State{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(stack), state); err == nil {
			d.State = state
		} else if ignoreGone(err) != nil {
			return d, s.explain(err)
		}
		about = append(about, stack)
	}
	if run != nil {
		about = append(about, run)
	}
	for _, o := range about {
		events, err := s.events(ctx, o)
		if err != nil {
			return d, err
		}
		d.Events = append(d.Events, events...)
	}
	return d, nil
}

// events are those of an object.
func (s *session) events(ctx context.Context, o client.Object) ([]corev1.Event, error) {
	c, err := s.kubernetes()
	if err != nil {
		return nil, err
	}
	list := &corev1.EventList{}
	about := fields.OneTermEqualSelector("involvedObject.uid", string(o.GetUID()))
	if err := ignoreGone(c.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFieldsSelector{Selector: about})); err != nil {
		return nil, s.explain(err)
	}
	return list.Items, nil
}
