package stackset

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// gatherStacks reads the Stacks of a set, and what allows it to write in other namespaces. Stacks in a namespace that
// spec.namespaces does not have any more are found by their labels.
func (r *Reconciler) gatherStacks(ctx context.Context, w *decision.Snapshot, k *known) (err error) {
	for _, namespace := range w.Set.Spec.Namespaces {
		if r.Watches != nil && !r.Watches(namespace) {
			w.Unwatched = append(w.Unwatched, namespace)
		}
	}
	namespaces := watched(*w)
	if w.Grants, err = r.grants(ctx, r.Client, namespaces[1:]); err != nil {
		return err
	}
	var all []v1alpha1.Stack
	for _, namespace := range namespaces {
		var list v1alpha1.StackList
		if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		if all == nil {
			all = list.Items // not copied: a Stack is large
			continue
		}
		all = append(all, list.Items...)
	}
	var elsewhere v1alpha1.StackList
	of := client.MatchingLabels{v1alpha1.StackSetNamespaceLabel: w.Set.Namespace, v1alpha1.StackSetLabel: w.Set.Name}
	if err := r.Client.List(ctx, &elsewhere, of, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for _, s := range elsewhere.Items {
		if !slices.Contains(namespaces, s.Namespace) {
			all = append(all, s)
		}
	}
	w.Stacks = k.relevant(w.Set, all)
	return nil
}

// watched are the namespace of the set, and then those of spec.namespaces that the operator watches.
func watched(w decision.Snapshot) []string {
	namespaces := []string{w.Set.Namespace}
	for _, namespace := range w.Set.Spec.Namespaces {
		if !slices.Contains(namespaces, namespace) && !slices.Contains(w.Unwatched, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// grants are the StackGrants of namespaces.
func (r *Reconciler) grants(ctx context.Context, from client.Reader, namespaces []string) (all v1alpha1.StackGrantList, err error) {
	for _, namespace := range namespaces {
		var list v1alpha1.StackGrantList
		if err := from.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return all, err
		}
		all.Items = append(all.Items, list.Items...)
	}
	return all, nil
}

// stillGranted returns the writes that StackGrants allow, which it reads past the cache. The event of one that was
// withdrawn reports the others.
func (r *Reconciler) stillGranted(ctx context.Context, w *decision.Snapshot, due []decision.Write) (_ []decision.Write, err error) {
	if len(due) == 0 {
		return nil, nil
	}
	if w.Grants, err = r.grants(ctx, r.Live, watched(*w)[1:]); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(due, func(one decision.Write) bool {
		return !decision.Permits(w.Set, w.Grants, decision.Locate(w.Set, one.Name))
	}), nil
}
