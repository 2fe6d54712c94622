// Package stackset has the commands for StackSets.
package stackset

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

// Commands returns the commands for StackSets.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{previewCommand(s), confirmDeletionsCommand(s)}
}

// stacksIn returns the Stacks of the namespaces of a StackSet, sorted, and the StackGrants of spec.namespaces.
func stacksIn(
	ctx context.Context, s *session.Session, set *v1alpha1.StackSet, opts ...client.ListOption,
) (all []v1alpha1.Stack, grants v1alpha1.StackGrantList, err error) {
	for i, namespace := range append([]string{set.Namespace}, set.Spec.Namespaces...) {
		if i > 0 && namespace == set.Namespace {
			continue
		}
		in := client.InNamespace(namespace)
		var stacks v1alpha1.StackList
		if err := s.List(ctx, &stacks, append(opts, in)...); err != nil {
			return nil, grants, err
		}
		all = append(all, stacks.Items...) // the API server sorts them
		if i == 0 {
			continue
		}
		var list v1alpha1.StackGrantList
		if err := s.List(ctx, &list, in); err != nil {
			return nil, grants, err
		}
		grants.Items = append(grants.Items, list.Items...)
	}
	return all, grants, nil
}
