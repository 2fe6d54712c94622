package pipeline

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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
	"cairn.dev/cairn/internal/lifecycle/promotion"
)

// soon is the time in which all changes of Stacks cause one reconcile of a Pipeline.
const soon = 500 * time.Millisecond

// SetupWithManager adds the controller of Pipelines. The channel has the Repositories of which a fetch moved branches
// or tags. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(
	mgr ctrl.Manager, fetched <-chan repository.Event, reconciler reconcile.Reconciler,
) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	ofRepository := func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.of(ctx, client.ObjectKeyFromObject(o))
	}
	return ctrl.NewControllerManagedBy(mgr).Named("pipeline").
		For(&v1alpha1.Pipeline{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.Stack{}, r.ofStacks()).
		Watches(&v1alpha1.Repository{}, handler.EnqueueRequestsFromMapFunc(ofRepository)).
		WatchesRawSource(source.Channel(fetched, handler.TypedEnqueueRequestsFromMapFunc(r.of))).
		Complete(reconciler)
}

// of returns the Pipelines whose commits are those of a Repository.
func (r *Reconciler) of(ctx context.Context, repo types.NamespacedName) (requests []reconcile.Request) {
	var list v1alpha1.PipelineList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // only from a cache that is stopping
	}
	for i := range list.Items {
		if list.Items[i].RepositoryKey() == repo {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// ofStacks enqueues the Pipelines that select a Stack after a delay: the events of its Stacks until then cause one
// reconcile.
func (r *Reconciler) ofStacks() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, o client.Object, q queue) {
		stack, _ := o.(*v1alpha1.Stack)
		if stack == nil {
			return
		}
		for _, key := range r.selecting(ctx, stack) {
			q.AddAfter(key, soon)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, wasStack := e.ObjectOld.(*v1alpha1.Stack)
			now, isStack := e.ObjectNew.(*v1alpha1.Stack)
			if !wasStack || !isStack || equivalent(before, now) {
				return
			}
			add(ctx, now, q)
			if !maps.Equal(before.Labels, now.Labels) {
				add(ctx, before, q)
			}
		},
	}
}

// equivalent reports whether a change of a Stack changes nothing that a Pipeline depends on.
func equivalent(before, now *v1alpha1.Stack) bool {
	a, b := &before.Status, &now.Status
	return verificationOf(before) == verificationOf(now) && mayApply(a) == mayApply(b) &&
		before.Generation == now.Generation && maps.Equal(before.Labels, now.Labels) &&
		(before.DeletionTimestamp == nil) == (now.DeletionTimestamp == nil) &&
		a.InputsDigest == b.InputsDigest && a.AppliedInputsDigest == b.AppliedInputsDigest &&
		equality.Semantic.DeepEqual(a.Release, b.Release) && equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}

// selecting returns the Pipelines that select a Stack.
func (r *Reconciler) selecting(ctx context.Context, stack *v1alpha1.Stack) (requests []reconcile.Request) {
	var list v1alpha1.PipelineList
	if err := r.Client.List(ctx, &list, client.InNamespace(stack.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // only from a cache that is stopping
	}
	for i := range list.Items {
		if stages, err := promotion.Stages(&list.Items[i], stack); err != nil || len(stages) > 0 {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
