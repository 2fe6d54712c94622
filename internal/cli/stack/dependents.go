package stack

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

// mostDependents is how many Stacks are listed before a destroy.
const mostDependents = 20

// showDependents prints the Stacks that a destroy waits for. A user who cannot list Stacks sees none of them.
func showDependents(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) error {
	var all v1alpha1.StackList
	if err := s.List(ctx, &all, client.InNamespace(stack.Namespace)); err != nil {
		return session.IgnoreUnreadable(err)
	}
	first := destroyedFirst(stack.Name, all.Items)
	if len(first) == 0 {
		return nil
	}
	fmt.Fprintf(s.ErrOut, "Nothing is destroyed before the Stacks that depend on %s are destroyed or deleted, in this "+
		"order.\nCairn does not destroy them by itself.\n", stack.Name)
	for i, other := range first[:min(len(first), mostDependents)] {
		fmt.Fprintf(s.ErrOut, "  %d. %s\n", i+1, other.Name+beingDeleted(other))
	}
	if more := len(first) - mostDependents; more > 0 {
		fmt.Fprintf(s.ErrOut, "  and %d more\n", more)
	}
	return nil
}

func beingDeleted(stack *v1alpha1.Stack) string {
	if stack.DeletionTimestamp != nil {
		return ", which is being deleted"
	}
	return ""
}

// destroyedFirst returns the Stacks that have to be destroyed or deleted before a Stack of their namespace, in an order
// that works. As for the operator, those that are destroyed already do not count, nor those that depend on each other.
func destroyedFirst(name string, stacks []v1alpha1.Stack) []*v1alpha1.Stack {
	byName, dependents := map[string]*v1alpha1.Stack{}, map[string][]*v1alpha1.Stack{}
	for i := range stacks {
		s := &stacks[i]
		byName[s.Name] = s
		for _, dependency := range s.Dependencies() {
			dependents[dependency] = append(dependents[dependency], s)
		}
	}
	var order []*v1alpha1.Stack
	seen := map[string]bool{name: true}
	var walk func(name string)
	walk = func(name string) {
		before := dependenciesOf(name, byName)
		for _, d := range dependents[name] {
			if seen[d.Name] || d.Destroyed() || before[d.Name] {
				continue
			}
			seen[d.Name] = true
			walk(d.Name)
			order = append(order, d)
		}
	}
	walk(name)
	return order
}

// dependenciesOf returns the names of all Stacks that a Stack depends on, directly or through others.
func dependenciesOf(name string, byName map[string]*v1alpha1.Stack) map[string]bool {
	found := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		s := byName[name]
		if s == nil {
			return
		}
		for _, d := range s.Dependencies() {
			if !found[d] {
				found[d] = true
				walk(d)
			}
		}
	}
	walk(name)
	return found
}
