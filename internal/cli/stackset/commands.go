// Package stackset has the commands for StackSets.
package stackset

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

// Commands returns the commands for StackSets.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{previewCommand(s), confirmDeletionsCommand(s)}
}

// complete completes the argument of a command for one StackSet.
func complete(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	return s.CompleteNames(ctx, args, &v1alpha1.StackSetList{})
}

// stacksOf returns the Stacks of a StackSet, in the order of their names.
func stacksOf(ctx context.Context, s *session.Session, set *v1alpha1.StackSet) ([]v1alpha1.Stack, error) {
	list := &v1alpha1.StackList{}
	err := s.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels{v1alpha1.StackSetLabel: set.Name})
	return list.Items, err // the API server sorts them
}

// count returns a number of Stacks.
func count(n int) string {
	if n == 1 {
		return "1 Stack"
	}
	return fmt.Sprintf("%d Stacks", n)
}
