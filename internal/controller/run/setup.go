package run

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/urgent"
)

// SetupWithManager adds the controller of Runs. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	find := lookups{r.Client}
	return ctrl.NewControllerManagedBy(mgr).Named("run").
		For(&v1alpha1.Run{}).
		Watches(&v1alpha1.Run{}, urgent.Users()).
		Owns(&corev1.Pod{}).
		WatchesRawSource(source.Channel(r.Scheduler.Wake(), handler.TypedEnqueueRequestsFromMapFunc(admitted))).
		Watches(&v1alpha1.Run{}, handler.EnqueueRequestsFromMapFunc(find.siblings)).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(find.runsOf)).
		Watches(&v1alpha1.StackPolicy{}, handler.EnqueueRequestsFromMapFunc(find.waiting)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(find.withoutInputs)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(find.withoutInputs)).
		Complete(reconciler)
}

// admitted returns the Run that the scheduler admits.
func admitted(_ context.Context, run types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: run}}
}

// lookups find in the cache the Runs that an event is relevant to.
type lookups struct{ cache client.Reader }

// runsOf returns the Runs of a Stack that are not finished.
func (l lookups) runsOf(ctx context.Context, stack client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(stack.GetNamespace()),
		client.MatchingFields{index.UnfinishedField: stack.GetName()})
}

// waiting returns the Runs of the namespace that wait for a window: another version of a StackPolicy may let them
// begin.
func (l lookups) waiting(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	for _, reason := range []string{v1alpha1.ReasonWindowClosed, v1alpha1.ReasonWindowInvalid} {
		requests = append(requests,
			l.unfinished(ctx, client.InNamespace(o.GetNamespace()),
				client.MatchingFields{index.ReasonField: reason})...)
	}
	return requests
}

// siblings returns the Runs that may have waited for a finished one. The cache has neither a Run that succeeded nor one
// that was deleted: for both the event has the Run as it was before.
func (l lookups) siblings(ctx context.Context, o client.Object) []reconcile.Request {
	run := o.(*v1alpha1.Run)
	if !run.Status.Phase.Finished() && run.DeletionTimestamp == nil &&
		l.cache.Get(ctx, client.ObjectKeyFromObject(run), &v1alpha1.Run{}, client.UnsafeDisableDeepCopy) == nil {
		return nil
	}
	return l.unfinished(ctx, client.InNamespace(run.Namespace),
		client.MatchingFields{index.UnfinishedField: run.Spec.Stack.Name})
}

// withoutInputs returns the Runs that wait for a Secret or a ConfigMap that does not exist.
func (l lookups) withoutInputs(ctx context.Context, o client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(o.GetNamespace()),
		client.MatchingFields{index.ReasonField: v1alpha1.ReasonInputsNotFound})
}

// unfinished lists Runs by an index that has only those which are not finished. Only their names are read, so they are
// not copied.
func (l lookups) unfinished(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	runs := &v1alpha1.RunList{}
	if err := l.cache.List(ctx, runs, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // only from a cache that is stopping
	}
	requests := make([]reconcile.Request, len(runs.Items))
	for i := range runs.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&runs.Items[i])
	}
	return requests
}
