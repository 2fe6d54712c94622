package operator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/stack"
	"cairn.dev/cairn/internal/state"
)

// addControllers is the one list of Cairn's controllers.
func addControllers(mgr ctrl.Manager, p *parts, o Options) error {
	ask := lookups{mgr.GetClient()}
	options := controller.Options{MaxConcurrentReconciles: 4}

	err := ctrl.NewControllerManagedBy(mgr).Named("stack").WithOptions(options).
		For(&v1alpha1.Stack{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&v1alpha1.Run{}).
		Watches(&v1alpha1.State{}, handler.EnqueueRequestsFromMapFunc(sameName)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(ask.stacksOf("Secret"))).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(ask.stacksOf("ConfigMap"))).
		Complete(&stack.Reconciler{
			Client:  mgr.GetClient(),
			Live:    mgr.GetAPIReader(),
			Sources: stack.NewSources(mgr.GetAPIReader(), p.bucket),
			Inputs:  p.inputs,
			States:  p.states,
			Runs:    run.Kept{Bucket: p.bucket},
			Events:  stack.Recorder{EventRecorder: mgr.GetEventRecorder("cairn")},
		})
	if err != nil {
		return err
	}

	err = ctrl.NewControllerManagedBy(mgr).Named("state").WithOptions(options).
		For(&v1alpha1.State{}).
		Complete(&state.Reconciler{Client: mgr.GetClient(), States: p.states})
	if err != nil {
		return err
	}

	return ctrl.NewControllerManagedBy(mgr).Named("run").WithOptions(options).
		For(&v1alpha1.Run{}).
		Owns(&corev1.Pod{}).
		Watches(&v1alpha1.Run{}, handler.EnqueueRequestsFromMapFunc(ask.siblings)).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(ask.runsOf)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(ask.runsWithout)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(ask.runsWithout)).
		Complete(&run.Reconciler{
			Client: mgr.GetClient(),
			Live:   mgr.GetAPIReader(),
			Inputs: p.inputs,
			Pods: run.PodSettings{
				StoreURL:      o.StoreURL,
				CABundle:      p.keys.Bundle,
				RunnerImage:   o.RunnerImage,
				RunnerCommand: o.RunnerCommand,
				EngineImage:   o.EngineImage,
			},
		})
}

// lookups tell from the cache to whom an event is news.
type lookups struct{ cache client.Reader }

func sameName(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// stacksOf finds the Stacks that read or write a Secret or ConfigMap.
func (l lookups) stacksOf(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var stacks v1alpha1.StackList
		err := l.cache.List(ctx, &stacks, client.InNamespace(o.GetNamespace()), client.MatchingFields{stack.ObjectIndex: stack.ObjectKey(kind, o.GetName())})
		if err != nil {
			return nil // only for a cache that is stopping
		}
		var requests []reconcile.Request
		for i := range stacks.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&stacks.Items[i])})
		}
		return requests
	}
}

// runsOf finds the Runs of a Stack that are not finished.
func (l lookups) runsOf(ctx context.Context, o client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{run.StackIndex: o.GetName()})
}

// siblings finds the Runs that may have waited for a finished one.
func (l lookups) siblings(ctx context.Context, o client.Object) []reconcile.Request {
	r := o.(*v1alpha1.Run)
	if !r.Status.Phase.Finished() && r.DeletionTimestamp == nil {
		return nil
	}
	return l.unfinished(ctx, client.InNamespace(r.Namespace), client.MatchingFields{run.StackIndex: r.Spec.Stack.Name})
}

// runsWithout finds the Runs that wait for an object that is missing.
func (l lookups) runsWithout(ctx context.Context, o client.Object) []reconcile.Request {
	return l.unfinished(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{run.WaitingIndex: run.ReasonInputsMissing})
}

func (l lookups) unfinished(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var runs v1alpha1.RunList
	if err := l.cache.List(ctx, &runs, opts...); err != nil {
		return nil // only for a cache that is stopping
	}
	var requests []reconcile.Request
	for _, r := range runs.Items {
		if !r.Status.Phase.Finished() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}})
		}
	}
	return requests
}
