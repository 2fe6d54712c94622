// Package urgent puts what a user waits for before all else in the queue of a controller: behind the thousands of
// Stacks that a StackSet creates at once, a change of a user would wait for minutes.
package urgent

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// First puts an object before all that is in a queue.
func First(q queue, key types.NamespacedName) {
	request, priority := reconcile.Request{NamespacedName: key}, -handler.LowPriority
	if q, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
		return
	}
	q.Add(request)
}

// Users puts objects first that a user created or changed. It is beside the handler of all events.
func Users() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList && byUser(e.Object) {
				First(q, client.ObjectKeyFromObject(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			asked := e.ObjectOld.GetAnnotations()[v1alpha1.RequestedAtAnnotation] !=
				e.ObjectNew.GetAnnotations()[v1alpha1.RequestedAtAnnotation]
			changed := e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() && byUser(e.ObjectNew)
			if asked || changed || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().
				IsZero() {
				First(q, client.ObjectKeyFromObject(e.ObjectNew))
			}
		},
	}
}

// byUser reports whether a user waits for what becomes of an object: not of what was written for a StackSet, nor of a
// drift check.
func byUser(o client.Object) bool {
	by := o.GetAnnotations()[v1alpha1.ChangedByAnnotation]
	if run, ok := o.(*v1alpha1.Run); ok {
		if by = run.Spec.Cause.By; run.Spec.Cause.Type == v1alpha1.CauseDrift {
			return false
		}
	}
	return !strings.HasPrefix(by, v1alpha1.ChangedByStackSet)
}
