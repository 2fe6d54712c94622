package stackset

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// gatherStacks reads the Stacks of a set, also those in a namespace that spec.namespaces does not have any more, those
// of others with a name that it generates, and what allows it to write in other namespaces. Its cost grows with the
// set.
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
	var own v1alpha1.StackList
	of := client.MatchingFields{OwnerIndex: client.ObjectKeyFromObject(w.Set).String()}
	if err := r.Client.List(ctx, &own, of, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	all := own.Items
	for _, key := range k.others(w.Set, all) {
		if !slices.Contains(namespaces, key.Namespace) {
			continue
		}
		s := &v1alpha1.Stack{}
		err := r.Client.Get(ctx, key, s, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			all = append(all, *s)
		}
	}
	w.Stacks = all
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
func (r *Reconciler) grants(ctx context.Context, from client.Reader, namespaces []string) (all v1alpha1.StackGrantList,
	err error) {
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
func (r *Reconciler) stillGranted(ctx context.Context, w *decision.Snapshot, due []decision.Write) (_ []decision.Write,
	err error) {
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

// OwnerIndex is the field by which the cache finds the Stacks of a StackSet in all namespaces.
const OwnerIndex = "stackset"

// IndexOwner returns the value of OwnerIndex: the StackSet of a Stack as namespace/name.
func IndexOwner(o client.Object) []string {
	if set, ok := o.(*v1alpha1.Stack).StackSetKey(); ok {
		return []string{set.String()}
	}
	return nil
}
