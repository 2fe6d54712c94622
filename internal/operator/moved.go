package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
)

// moved wakes the Stacks of a Repository whose code is another after a fetch than they know, before all else. In a large
// repository these are few, and nothing is written for the others.
func moved(cache client.Reader, codes *repository.Codes) handler.TypedEventHandler[types.NamespacedName, reconcile.Request] {
	return handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(ctx context.Context, e repository.Event, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			repo, stacks := &v1alpha1.Repository{}, &v1alpha1.StackList{}
			if err := cache.Get(ctx, e.Object, repo); err != nil {
				return // it is gone
			}
			if err := cache.List(ctx, stacks, client.MatchingFields{repository.StackIndex: e.Object.String()}); err != nil {
				return // only for a cache that is stopping
			}
			for i := range stacks.Items {
				if repository.Allows(repo, stacks.Items[i].Namespace) && codes.Changed(ctx, repo, &stacks.Items[i]) {
					first(queue, client.ObjectKeyFromObject(&stacks.Items[i]))
				}
			}
		},
	}
}

// readiness lets through what is news to the Stacks of a Repository beside its commits, which moved tells: its spec, and
// whether it is Ready.
func readiness() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Repository), e.ObjectNew.(*v1alpha1.Repository)
		return before.Generation != after.Generation || after.DeletionTimestamp != nil || repository.Trouble(before) != repository.Trouble(after)
	}}
}

// first puts a Stack before all that is in the queue.
func first(queue workqueue.TypedRateLimitingInterface[reconcile.Request], key types.NamespacedName) {
	request, priority := reconcile.Request{NamespacedName: key}, -handler.LowPriority
	if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
		return
	}
	queue.Add(request)
}
