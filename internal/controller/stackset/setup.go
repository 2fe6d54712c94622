package stackset

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// SetupWithManager adds the controller of StackSets. The channel has the Repositories of which a fetch moved branches
// or tags. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(
	mgr ctrl.Manager, fetched <-chan repository.Event, reconciler reconcile.Reconciler,
) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	ofRepository := func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.setsOf(ctx, client.ObjectKeyFromObject(o))
	}
	return ctrl.NewControllerManagedBy(mgr).Named("stackset").
		For(&v1alpha1.StackSet{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.Stack{}, ofStacks()).
		Watches(&v1alpha1.StackGrant{}, handler.EnqueueRequestsFromMapFunc(r.granted)).
		Watches(&v1alpha1.Repository{}, handler.EnqueueRequestsFromMapFunc(ofRepository)).
		WatchesRawSource(source.Channel(fetched, handler.TypedEnqueueRequestsFromMapFunc(r.setsOf))).
		Complete(reconciler)
}

// setsOf are the StackSets that list the directories of a Repository.
func (r *Reconciler) setsOf(ctx context.Context, repo types.NamespacedName) (requests []reconcile.Request) {
	var list v1alpha1.StackSetList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // only from a cache that is stopping
	}
	for i := range list.Items {
		if key, ok := list.Items[i].RepositoryKey(); ok && key == repo {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// granted are the StackSets that name the namespace of a StackGrant.
func (r *Reconciler) granted(ctx context.Context, grant client.Object) (requests []reconcile.Request) {
	var list v1alpha1.StackSetList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // only from a cache that is stopping
	}
	for i := range list.Items {
		if set := &list.Items[i]; slices.Contains(set.Spec.Namespaces, grant.GetNamespace()) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)})
		}
	}
	return requests
}

// ofStacks enqueues the StackSet of a Stack after a delay: the events of its Stacks until then cause one reconcile.
func ofStacks() handler.EventHandler {
	add := func(o client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		stack, _ := o.(*v1alpha1.Stack)
		if stack == nil {
			return
		}
		if set, ok := stack.StackSetKey(); ok {
			queue.AddAfter(reconcile.Request{NamespacedName: set}, soon)
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, wasStack := e.ObjectOld.(*v1alpha1.Stack)
			now, isStack := e.ObjectNew.(*v1alpha1.Stack)
			if wasStack && isStack && decision.Equivalent(before, now) {
				return
			}
			add(e.ObjectOld, q)
			add(e.ObjectNew, q)
		},
	}
}
