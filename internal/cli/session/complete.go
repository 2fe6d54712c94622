package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// Completion returns the words that can follow args.
type Completion func(ctx context.Context, s *Session, args []string) ([]string, error)

// Complete returns a completion for shells: it hides errors and has a short timeout.
func (s *Session) Complete(words Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		s.BindRequests(ctx)
		all, err := words(ctx, s, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all = slices.DeleteFunc(all, func(word string) bool {
			return !strings.HasPrefix(word, toComplete) || slices.Contains(args, word)
		})
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteStacks completes the argument of a command for one Stack.
func CompleteStacks(ctx context.Context, s *Session, args []string) ([]string, error) {
	return s.CompleteNames(ctx, args, lists("stack")...)
}

// CompleteStacksAndRuns completes the argument of a command for one Stack or Run.
func CompleteStacksAndRuns(ctx context.Context, s *Session, args []string) ([]string, error) {
	return s.CompleteNames(ctx, args, lists("")...)
}

// CompleteStacksThat completes Stacks to which the action of a command applies.
func CompleteStacksThat(applies func(*v1alpha1.Stack) bool) Completion {
	return func(ctx context.Context, s *Session, args []string) ([]string, error) {
		return CompleteObjects(ctx, s, args, &v1alpha1.StackList{}, applies)
	}
}

// CompleteRunsThat completes Runs to which the action of a command applies, and the Stacks that stand for them.
func CompleteRunsThat(applies func(*v1alpha1.Run) bool) Completion {
	return func(ctx context.Context, s *Session, args []string) ([]string, error) {
		runs, err := CompleteObjects(ctx, s, args, &v1alpha1.RunList{}, applies)
		if err != nil {
			return nil, err
		}
		stacks, _ := CompleteObjects(ctx, s, args, &v1alpha1.StackList{}, func(st *v1alpha1.Stack) bool {
			return slices.Contains(runs, cmp.Or(st.Status.CurrentRun, st.Status.LastRun))
		}) // a user may see none of these
		return append(stacks, runs...), nil
	}
}

// CompleteObjects completes the first argument with the names of the objects of a list to which the action of a command
// applies. T is the type of the objects.
func CompleteObjects[T any](
	ctx context.Context, s *Session, args []string, list client.ObjectList, applies func(*T) bool,
) ([]string, error) {
	if len(args) > 0 {
		return nil, nil
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	if err := s.List(ctx, list, client.InNamespace(ns)); err != nil {
		return nil, err
	}
	var names []string
	err = apimeta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(any).(*T); ok && applies(object) {
			names = append(names, o.(client.Object).GetName())
		}
		return nil
	})
	return names, err
}

// CompleteAll completes the argument of a command for one Stack, Run or PullRequest.
func CompleteAll(ctx context.Context, s *Session, args []string) ([]string, error) {
	names, err := CompleteStacksAndRuns(ctx, s, args)
	if err != nil {
		return nil, err
	}
	pulls, _ := s.CompleteNames(ctx, args, &v1alpha1.PullRequestList{}) // a user may see none of these
	for _, name := range pulls {
		names = append(names, "pr/"+name)
	}
	return names, nil
}

// CompleteDescribed completes the argument of a command for one Stack, Run, PullRequest, StackSet or Repository.
func CompleteDescribed(ctx context.Context, s *Session, args []string) ([]string, error) {
	names, err := CompleteAll(ctx, s, args)
	if err != nil {
		return nil, err
	}
	sets, _ := s.CompleteNames(ctx, args, &v1alpha1.StackSetList{}) // a user may see none of these
	for _, name := range sets {
		names = append(names, "stackset/"+name)
	}
	repositories, _ := s.CompleteNames(ctx, args, &v1alpha1.RepositoryList{})
	for _, name := range repositories {
		names = append(names, "repo/"+name)
	}
	return names, nil
}

// CompleteNames completes the first argument with the names of the objects of some kinds.
func (s *Session) CompleteNames(ctx context.Context, args []string, kinds ...client.ObjectList) ([]string, error) {
	if len(args) > 0 {
		return nil, nil
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	return s.Names(ctx, ns, kinds...)
}

// lists returns the lists of a kind: stack, run, or empty for both.
func lists(kind string) []client.ObjectList {
	if k, ok := kinds.Named(kind); ok {
		return []client.ObjectList{k.NewList()}
	}
	return []client.ObjectList{kinds.Stacks.NewList(), kinds.Runs.NewList()}
}

// Examples formats the examples of a command's help, with the name that the user calls it by.
func (s *Session) Examples(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = strings.TrimLeft(line, "\t")
		if rest, ok := strings.CutPrefix(line, "cairn "); ok {
			line = s.Program + " " + rest
		}
		lines = append(lines, "  "+line)
	}
	return strings.Join(lines, "\n")
}
