package driftpause

import (
	"context"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
)

// soon is the time in which all begins of drift of a namespace cause one reconcile.
const soon = time.Second

// SetupWithManager adds the controller of DriftPauses. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(mgr).Named("driftpause").
		For(&v1alpha1.DriftPause{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Stack{}, ofStacks()).
		Complete(reconciler)
}

// ofStacks enqueues the DriftPause of the namespace of a Stack that begins to drift.
func ofStacks() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(q queue, o client.Object) {
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: v1alpha1.DriftPauseName}
		q.AddAfter(reconcile.Request{NamespacedName: key}, soon)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if len(starts(e.Object)) > 0 {
				add(q, e.Object)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if now := starts(e.ObjectNew); len(now) > 0 && !slices.Equal(starts(e.ObjectOld), now) {
				add(q, e.ObjectNew)
			}
		},
	}
}

// starts are the begins of the drift of a Stack.
func starts(o client.Object) (times []int64) {
	if s, ok := o.(*v1alpha1.Stack); ok && s.Status.Drift != nil {
		for _, start := range s.Status.Drift.Starts {
			times = append(times, start.Time.Unix())
		}
	}
	return times
}
