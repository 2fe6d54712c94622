package notification

import (
	"context"
	"maps"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/notification/decision"
)

const (
	// concurrent is the number of Notifications that are reconciled at the same time: each may wait for its
	// destination.
	concurrent = 16
	// soon is the time in which all changes of Stacks cause one reconcile of a Notification.
	soon = time.Second
)

// SetupWithManager adds the controller of Notifications. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named("notification").
		For(&v1alpha1.Notification{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.Stack{}, r.ofStacks()).
		Watches(&v1alpha1.DriftPause{}, handler.EnqueueRequestsFromMapFunc(r.aboutNamespace)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		Complete(reconciler)
}

// ofStacks enqueues the Notifications that are about a Stack, if its change is one that messages are about.
func (r *Reconciler) ofStacks() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(q queue, keys []reconcile.Request) {
		for _, key := range keys {
			q.AddAfter(key, soon)
		}
	}
	about := func(ctx context.Context, o client.Object) []reconcile.Request {
		stack, ok := o.(*v1alpha1.Stack)
		if !ok {
			return nil
		}
		return r.about(ctx, stack)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(q, about(ctx, e.Object)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(q, about(ctx, e.Object)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, wasStack := e.ObjectOld.(*v1alpha1.Stack)
			now, isStack := e.ObjectNew.(*v1alpha1.Stack)
			if !wasStack || !isStack {
				return
			}
			keys := r.about(ctx, now)
			if !maps.Equal(before.Labels, now.Labels) {
				add(q, append(keys, r.about(ctx, before)...))
			} else if len(keys) > 0 && !decision.Equivalent(before, now) { // most Stacks have no Notification
				add(q, keys)
			}
		},
	}
}

// about are the Notifications that are about a Stack.
func (r *Reconciler) about(ctx context.Context, s *v1alpha1.Stack) []reconcile.Request {
	return r.those(ctx, s.Namespace, func(n *v1alpha1.Notification) bool { return selects(n, s) })
}

// aboutNamespace are the Notifications that are about the namespace of an object.
func (r *Reconciler) aboutNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.those(ctx, o.GetNamespace(), func(n *v1alpha1.Notification) bool {
		return inNamespaces(n, o.GetNamespace())
	})
}

// those are the Notifications that can be about a namespace, and are.
func (r *Reconciler) those(
	ctx context.Context, namespace string, are func(*v1alpha1.Notification) bool,
) (requests []reconcile.Request) {
	namespaces := []string{namespace}
	if r.Installation != "" && r.Installation != namespace {
		namespaces = append(namespaces, r.Installation)
	}
	for _, namespace := range namespaces {
		var list v1alpha1.NotificationList
		if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil // only from a cache that is stopping
		}
		for i := range list.Items {
			if are(&list.Items[i]) {
				requests = append(requests,
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
	}
	return requests
}
