package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
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
