package stack

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func describeCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "describe STACK|RUN|repo/NAME|stackset/NAME|pr/NUMBER...",
		Aliases: []string{"why"},
		Short: "Show the details of a Stack, Run, Repository, StackSet or PullRequest: why it is not " +
			"Ready, what to do",
		Example: s.Examples(`
			cairn describe net
			cairn describe net-7
			cairn describe repo/infra
			cairn describe stackset/platform
			cairn describe pr/12`),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch kind, _ := session.SplitKind(args[0]); kind {
			case "pullrequest":
				return describePullRequest(cmd.Context(), s, args[0])
			case "stackset":
				return describeStackSet(cmd.Context(), s, args[0])
			case "repository":
				return describeRepository(cmd.Context(), s, args[0])
			}
			d, err := describe(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return d.Write(s.Text(), s.Style())
		},
	}
	return s.Several(cmd, session.CompleteDescribed)
}

// describe gathers the description of a Stack or Run. It omits objects that the user may not read.
func describe(ctx context.Context, s *session.Session, arg string) (screen.Description, error) {
	var d screen.Description
	stack, run, err := s.StackOrRun(ctx, arg)
	if err != nil {
		return d, err
	}
	_, name := session.SplitKind(arg)
	d.Stack, d.Run, d.Alone = stack, run, run != nil && run.Name == name && (stack == nil || stack.Name != name)
	if kind, _ := session.SplitKind(arg); kind == "run" {
		d.Alone = true
	}
	var about []client.Object
	if stack != nil && !d.Alone {
		if d.Runs, err = runsOf(ctx, s, stack); err != nil {
			return d, err
		}
		state := &v1alpha1.State{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(stack), state); err == nil {
			d.State = state
		} else if session.IgnoreUnreadable(err) != nil {
			return d, err
		}
		about = append(about, stack)
	}
	if run != nil {
		about = append(about, run)
	}
	for _, o := range about {
		events, err := eventsOf(ctx, s, o)
		if err != nil {
			return d, err
		}
		d.Events = append(d.Events, events...)
	}
	return d, nil
}

// describeStackSet describes a StackSet.
func describeStackSet(ctx context.Context, s *session.Session, arg string) error {
	set, err := s.StackSet(ctx, arg)
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, s, set)
	if err != nil {
		return err
	}
	return screen.StackSet(s.Text(), set, events, s.Style())
}

// describeRepository describes a Repository, with the Stacks that read from it.
func describeRepository(ctx context.Context, s *session.Session, arg string) error {
	r, err := s.Repository(ctx, arg)
	if err != nil {
		return err
	}
	stacks := &v1alpha1.StackList{}
	if err := s.List(ctx, stacks); err != nil { // a user may see those of one namespace only
		if err := s.List(ctx, stacks, client.InNamespace(r.Namespace)); session.IgnoreUnreadable(err) != nil {
			return err
		}
	}
	events, err := eventsOf(ctx, s, r)
	if err != nil {
		return err
	}
	return screen.Repository(s.Text(), r, stacks.Items, events, s.Style())
}

// eventsOf returns the events of an object.
func eventsOf(ctx context.Context, s *session.Session, o client.Object) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.uid": string(o.GetUID())}
	err := s.List(ctx, list, client.InNamespace(o.GetNamespace()), about)
	return list.Items, session.IgnoreUnreadable(err)
}

// runsOf returns the Runs of a Stack, newest first.
func runsOf(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) ([]v1alpha1.Run, error) {
	list := &v1alpha1.RunList{}
	err := s.List(ctx, list, client.InNamespace(stack.Namespace))
	return runinfo.Of(list.Items, stack), err
}

func historyCommand(s *session.Session) *cobra.Command {
	var format string
	cmd := onStack(s, &cobra.Command{
		Use:   "history STACK",
		Short: "Show the Runs of a Stack, newest first",
		Example: s.Examples(`
			cairn history net
			cairn history net -o wide`),
	}, func(ctx context.Context, stack *v1alpha1.Stack) error {
		runs, err := runsOf(ctx, s, stack)
		switch {
		case err != nil:
			return err
		case format != "" && format != session.FormatWide:
			return printList(s, format, &v1alpha1.RunList{Items: runs}, false)
		case len(runs) == 0:
			_, err := fmt.Fprintln(s.ErrOut, errNoRun(s, stack))
			return err
		}
		return s.PrintTable(screen.History(runs, s.Style()), format == session.FormatWide, false)
	})
	session.AddFormatFlag(cmd, &format, session.FormatWide, session.FormatName)
	return cmd
}

// errNoRun returns the error of a Stack without a Run.
func errNoRun(s *session.Session, stack *v1alpha1.Stack) error {
	return fmt.Errorf("the Stack %s has no Runs yet: `%s why %s` shows why", stack.Name, s.Command(), stack.Name)
}
