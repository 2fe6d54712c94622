package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completion gives the words that may come after args.
type completion func(ctx context.Context, s *session, args []string) ([]string, error)

// complete makes a completion work in a shell: it says nothing of errors, and does not wait long.
func (s *session) complete(words completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		s.within(ctx)
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

// completeStacks is for commands that take one Stack.
func completeStacks(ctx context.Context, s *session, args []string) ([]string, error) {
	if len(args) > 0 {
		return nil, nil
	}
	return s.completeNames(ctx, "stack")
}

// completeStacksAndRuns is for commands that take one Stack or Run.
func completeStacksAndRuns(ctx context.Context, s *session, args []string) ([]string, error) {
	if len(args) > 0 {
		return nil, nil
	}
	return s.completeNames(ctx, "")
}

func (s *session) completeNames(ctx context.Context, kind string) ([]string, error) {
	ns, err := s.namespace()
	if err != nil {
		return nil, err
	}
	return s.names(ctx, ns, kind)
}

// completeListed is for get: kinds, and then names.
func completeListed(ctx context.Context, s *session, args []string) ([]string, error) {
	var words []string
	kind := listedKinds[0]
	if len(args) == 0 {
		for _, k := range listedKinds {
			words = append(words, k.names[0])
		}
	} else if k, ok := listedKind(args[0]); ok {
		kind = k
	}
	c, err := s.kubernetes()
	if err != nil {
		return words, err
	}
	ns, err := s.namespace()
	if err != nil {
		return words, err
	}
	list := kind.list()
	if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
		return words, err
	}
	return words, apimeta.EachListItem(list, func(o runtime.Object) error {
		words = append(words, o.(client.Object).GetName())
		return nil
	})
}

// completeOutputs is for outputs: a Stack, and then one of its outputs.
func completeOutputs(ctx context.Context, s *session, args []string) ([]string, error) {
	if len(args) != 1 {
		return completeStacks(ctx, s, args)
	}
	stack, err := s.stack(ctx, args[0])
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

// examples are those of a command's help, with the name that it is called by.
func (s *session) examples(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = strings.TrimLeft(line, "\t")
		if rest, ok := strings.CutPrefix(line, "cairn "); ok {
			line = s.program + " " + rest
		}
		lines = append(lines, "  "+line)
	}
	return strings.Join(lines, "\n")
}
