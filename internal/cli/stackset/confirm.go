package stackset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/lifecycle/action"
)

func confirmDeletionsCommand(s *session.Session) *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use:   "confirm-deletions STACKSET",
		Short: "Let a StackSet delete the Stacks that it does not generate any more",
		Long: `Shows all Stacks that the StackSet does not generate any more, with their resources and their deletionPolicy,
and asks. Once you confirm, the StackSet deletes exactly these Stacks. If another Stack joins or leaves the list, it
deletes none, and the new list needs a new confirmation. What a deletion does is up to the deletionPolicy of each Stack:
Destroy destroys its resources first, with a plan that waits for an approval if the Stack requires one; Orphan leaves
its resources and its State; with Protect the API server denies the deletion.

With --digest it confirms the list that you read before, without asking; the message of the StackSet has that digest.
Without a terminal it needs --digest. It needs spec.prune Delete, and the verb destroy on stacks.`,
		Example: s.Examples(`
			cairn confirm-deletions platform
			cairn confirm-deletions platform --digest 1f3c8a0e5b7d2946c1a3f58e0d9b7c6a4e2f1083`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(completeDeletions),
		RunE: func(cmd *cobra.Command, args []string) error {
			return confirmDeletions(cmd.Context(), s, args[0], digest)
		},
	}
	cmd.Flags().StringVar(&digest, "digest", "", "digest of the list that you read; another list is rejected")
	return cmd
}

// completeDeletions completes StackSets with deletions that wait for a confirmation.
func completeDeletions(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	return session.CompleteObjects(ctx, s, args, &v1alpha1.StackSetList{}, func(set *v1alpha1.StackSet) bool {
		return set.Status.Deletions != nil
	})
}

func confirmDeletions(ctx context.Context, s *session.Session, arg, read string) error {
	set, err := s.StackSet(ctx, arg)
	if err != nil {
		return err
	}
	of := client.MatchingLabels{v1alpha1.StackSetLabel: set.Name}
	stacks, grants, err := stacksIn(ctx, s, set, of)
	if err != nil {
		return err
	}
	listed, err := awaiting(set, stacks, grants)
	if err != nil {
		return fmt.Errorf("%w; `%s describe stackset/%s` shows why", err, s.Command(), set.Name)
	}
	if err := s.PrintTable(screen.Deletions(listed), false, false); err != nil {
		return err
	}
	digest := set.Status.Deletions.Digest
	if err := confirmList(ctx, s, set, listed, read); err != nil {
		return err
	}
	if err := s.Patch(ctx, set, action.ConfirmDeletions(digest)); err != nil {
		return fmt.Errorf("the deletions are not confirmed: %w", err)
	}
	_, err = fmt.Fprintf(s.Text(), "StackSet %s deletes these Stacks now; each plan that destroys resources "+
		"waits for an approval. `%s -w` follows them.\n%s", set.Name, s.Style().StacksOf(set), protected(listed))
	return err
}

// protected describes how to delete the Stacks whose deletionPolicy prevents it; empty if there are none.
func protected(listed []*v1alpha1.Stack) string {
	var first *v1alpha1.Stack
	n := 0
	for _, st := range listed {
		if st.Spec.DeletionPolicy == v1alpha1.DeletionProtect {
			first, n = cmp.Or(first, st), n+1
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them are protected, and stay until you set another deletionPolicy, Destroy or "+
		"Orphan, in each:\n  kubectl -n %s patch stack %s --type=merge -p "+
		"'{\"spec\":{\"deletionPolicy\":\"Destroy\"}}'\n", n, first.Namespace, first.Name)
}

// awaiting returns the Stacks that a confirmation deletes: those that the operator listed. It computes their digest
// itself, since the status names only the first of them.
func awaiting(
	set *v1alpha1.StackSet, stacks []v1alpha1.Stack, grants v1alpha1.StackGrantList,
) ([]*v1alpha1.Stack, error) {
	switch {
	case set.Spec.Prune != v1alpha1.PruneDelete:
		return nil, fmt.Errorf("spec.prune of StackSet %s is %s: it deletes no Stack", set.Name, v1alpha1.PruneKeep)
	case set.Status.Deletions == nil:
		return nil, fmt.Errorf("no Stack of StackSet %s waits for a confirmation", set.Name)
	}
	var listed []*v1alpha1.Stack
	for i := range stacks {
		st := &stacks[i]
		isGone := st.Annotations[v1alpha1.ItemGoneAnnotation] != "" && st.DeletionTimestamp == nil
		if isGone && set.Owns(st) && decision.Permits(set, grants, client.ObjectKeyFromObject(st)) {
			listed = append(listed, st)
		}
	}
	if decision.Digest(set, listed) != set.Status.Deletions.Digest {
		return nil, fmt.Errorf("the list of Stacks that StackSet %s does not generate is changing: run the "+
			"command again", set.Name)
	}
	return listed, nil
}

// confirmList returns nil if the user confirms the list: they named its digest, or confirm it below the list.
func confirmList(ctx context.Context, s *session.Session, set *v1alpha1.StackSet, listed []*v1alpha1.Stack,
	read string) error {
	digest := set.Status.Deletions.Digest
	command := fmt.Sprintf("%s confirm-deletions %s --digest %s", s.Command(), set.Name, digest)
	switch {
	case read != "" && !strings.EqualFold(read, digest):
		return fmt.Errorf("nothing was done: the list is another one than the one with the digest %s; after you read "+
			"it, use `%s`",
			screen.Clean(read), command)
	case read != "":
		return nil
	case !s.TTY:
		return fmt.Errorf("nothing was done: without a terminal the list is confirmed by its digest; after you read "+
			"it, use `%s`",
			command)
	}
	ok, err := s.Ask(ctx, fmt.Sprintf("Delete %s of StackSet %s? Enter the name of the StackSet to confirm:",
		shorten.Count(len(listed), "Stack"), set.Name), set.Name)
	switch {
	case ctx.Err() != nil:
		return session.Interrupted("interrupted: nothing was done")
	case err == nil && !ok:
		return errors.New("nothing was done")
	}
	return err
}
