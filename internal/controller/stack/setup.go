package stack

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/urgent"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// SetupWithManager adds the controller of Stacks. The channel has the Repositories of which a fetch moved branches or
// tags; handler reconciles.
//
// The Stack's status is watched too: a former leader may have written it last, from an outdated cache.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, fetched <-chan repository.Event,
	reconciler reconcile.Reconciler) error {
	find := lookups{r.Client}
	return ctrl.NewControllerManagedBy(mgr).Named("stack").
		For(&v1alpha1.Stack{}).
		Watches(&v1alpha1.Stack{}, urgent.Users()).
		Owns(&v1alpha1.Run{}).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(find.related)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(find.deletedRunOf)).
		Watches(&v1alpha1.State{}, handler.EnqueueRequestsFromMapFunc(find.usersOf)).
		Watches(&v1alpha1.StackGrant{}, handler.EnqueueRequestsFromMapFunc(find.granted)).
		Watches(&v1alpha1.PullRequest{}, handler.EnqueueRequestsFromMapFunc(heldBy)).
		Watches(&v1alpha1.DriftPause{}, handler.EnqueueRequestsFromMapFunc(find.drifted)).
		Watches(&v1alpha1.Repository{}, handler.EnqueueRequestsFromMapFunc(find.stacksFrom),
			builder.WithPredicates(readiness())).
		Watches(&v1alpha1.VariableSet{}, handler.EnqueueRequestsFromMapFunc(find.selectedBy),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Pipeline{}, handler.EnqueueRequestsFromMapFunc(find.inStages),
			builder.WithPredicates(promoted())).
		Watches(&v1alpha1.StackPolicy{}, handler.EnqueueRequestsFromMapFunc(find.selectedBy),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(find.stacksOf("Secret"))).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(find.stacksOf("ConfigMap"))).
		WatchesRawSource(source.Channel(fetched, moved(r.Client, r.Code))).
		WatchesRawSource(source.Channel(r.Sources.Packed(), handler.TypedEnqueueRequestsFromMapFunc(packed))).
		Complete(reconciler)
}

// packed enqueues a Stack whose code was packed.
func packed(_ context.Context, stack types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: stack}}
}

// heldBy finds the Stacks that a pull request holds, or held. Of a changed one, it is called for both versions.
func heldBy(_ context.Context, o client.Object) (requests []reconcile.Request) {
	for _, h := range o.(*v1alpha1.PullRequest).Status.Holds {
		requests = append(requests,
			reconcile.Request{NamespacedName: client.ObjectKey{Namespace: h.Namespace, Name: h.Name}})
	}
	return requests
}

// lookups find in the cache the Stacks that an event is relevant to.
type lookups struct{ cache client.Reader }

// moved wakes the Stacks of a Repository whose code is another after a fetch than they know, before all else. In a
// large repository these are few, and nothing is written for the others.
func moved(cache client.Reader, codes code.Git) handler.TypedEventHandler[types.NamespacedName, reconcile.Request] {
	return handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(ctx context.Context, e repository.Event,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			repo, stacks := &v1alpha1.Repository{}, &v1alpha1.StackList{}
			if err := cache.Get(ctx, e.Object, repo); err != nil {
				return // it is gone
			}
			if err := cache.List(ctx, stacks,
				client.MatchingFields{repository.StackIndex: e.Object.String()}); err != nil {
				return // only for a cache that is stopping
			}
			for i := range stacks.Items {
				if repository.Allows(repo, stacks.Items[i].Namespace) &&
					changed(ctx, cache, codes, repo, &stacks.Items[i]) {
					urgent.First(queue, client.ObjectKeyFromObject(&stacks.Items[i]))
				}
			}
		},
	}
}

// changed reports whether the code of a Stack may be another than it knows. The values of VariableSets can name files.
func changed(ctx context.Context, cache client.Reader, codes code.Git, repo *v1alpha1.Repository,
	stack *v1alpha1.Stack) bool {
	with, problem, err := snapshot.Effective(ctx, cache, stack)
	return err != nil || problem != nil || codes.Changed(ctx, repo, with)
}

// readiness passes changes that the Stacks of a Repository need besides its commits, for which moved is: its spec, and
// whether it is Ready.
func readiness() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Repository), e.ObjectNew.(*v1alpha1.Repository)
		return before.Generation != after.Generation || after.DeletionTimestamp != nil ||
			repository.Trouble(before) != repository.Trouble(after)
	}}
}

// deletedRunOf finds the Stack of a pod whose Run was deleted: its next Run waits for the end of the pod. The events of
// all other pods are for their Runs. The cache may still have the Run; then the event of its deletion is to come.
func (l lookups) deletedRunOf(ctx context.Context, pod client.Object) []reconcile.Request {
	of := metav1.GetControllerOf(pod)
	if of == nil {
		return nil
	}
	stack, run := runinfo.StackName(of.Name), &v1alpha1.Run{}
	if stack == "" {
		return nil
	}
	err := l.cache.Get(ctx, client.ObjectKey{Namespace: pod.GetNamespace(), Name: of.Name}, run,
		client.UnsafeDisableDeepCopy)
	if err == nil && run.UID == of.UID {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: stack}}}
}

// stacksOf finds the Stacks that read or write a Secret or ConfigMap.
func (l lookups) stacksOf(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		same, names := client.InNamespace(o.GetNamespace()),
			client.MatchingFields{snapshot.ObjectIndex: snapshot.ObjectKey(kind, o.GetName())}
		requests := l.list(ctx, &v1alpha1.StackList{}, same, names)
		var sets v1alpha1.VariableSetList
		if err := l.cache.List(ctx, &sets, same, names, client.UnsafeDisableDeepCopy); err != nil {
			return requests // only for a cache that is stopping
		}
		for i := range sets.Items {
			requests = append(requests, l.selectedBy(ctx, &sets.Items[i])...)
		}
		var policies v1alpha1.StackPolicyList
		if err := l.cache.List(ctx, &policies, same, names, client.UnsafeDisableDeepCopy); err != nil {
			return requests
		}
		for i := range policies.Items {
			requests = append(requests, l.selectedBy(ctx, &policies.Items[i])...)
		}
		return requests
	}
}

// selectedBy finds the Stacks that a VariableSet or a StackPolicy selects: all of the namespace if its selector is
// invalid, which stops them. Of a changed one, it is called for both versions.
func (l lookups) selectedBy(ctx context.Context, o client.Object) []reconcile.Request {
	same := client.InNamespace(o.GetNamespace())
	var of *metav1.LabelSelector
	switch o := o.(type) {
	case *v1alpha1.VariableSet:
		of = &o.Spec.StackSelector
	case *v1alpha1.StackPolicy:
		of = &o.Spec.StackSelector
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return l.list(ctx, &v1alpha1.StackList{}, same)
	}
	return l.list(ctx, &v1alpha1.StackList{}, same, client.MatchingLabelsSelector{Selector: selector})
}

// drifted finds the Stacks with drift in the namespace of a DriftPause.
func (l lookups) drifted(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	var stacks v1alpha1.StackList
	if err := l.cache.List(ctx, &stacks, client.InNamespace(o.GetNamespace()),
		client.UnsafeDisableDeepCopy); err != nil {
		return nil // only for a cache that is stopping
	}
	for i := range stacks.Items {
		if d := stacks.Items[i].Status.Drift; d != nil && d.Since != nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&stacks.Items[i])})
		}
	}
	return requests
}

// inStages finds the Stacks that the stages of a Pipeline select: all of the namespace if a selector is invalid, which
// stops them. Of a changed one, it is called for both versions.
func (l lookups) inStages(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	same := client.InNamespace(o.GetNamespace())
	for _, stage := range o.(*v1alpha1.Pipeline).Spec.Stages {
		selector, err := metav1.LabelSelectorAsSelector(&stage.Stacks)
		if err != nil {
			return l.list(ctx, &v1alpha1.StackList{}, same)
		}
		requests = append(requests,
			l.list(ctx, &v1alpha1.StackList{}, same, client.MatchingLabelsSelector{Selector: selector})...)
	}
	return requests
}

// promoted passes changes of Pipelines that Stacks depend on: the spec, and the releases of the stages.
func promoted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Pipeline), e.ObjectNew.(*v1alpha1.Pipeline)
		same := func(a, b v1alpha1.StageStatus) bool {
			return a.Name == b.Name && a.Release == b.Release && a.Promotion == b.Promotion
		}
		return before.Generation != after.Generation || before.Status.Observed() != after.Status.Observed() ||
			!slices.EqualFunc(before.Status.Stages, after.Status.Stages, same)
	}}
}

// stacksFrom finds the Stacks that read from a Repository.
func (l lookups) stacksFrom(ctx context.Context, o client.Object) []reconcile.Request {
	return l.list(ctx, &v1alpha1.StackList{},
		client.MatchingFields{repository.StackIndex: client.ObjectKeyFromObject(o).String()})
}

// usersOf finds the Stack of a State, and those that use its outputs.
func (l lookups) usersOf(ctx context.Context, o client.Object) []reconcile.Request {
	return append(l.dependents(ctx, o), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
}

func (l lookups) dependents(ctx context.Context, o client.Object) []reconcile.Request {
	return l.list(ctx, &v1alpha1.StackList{},
		client.MatchingFields{snapshot.DependencyIndex: client.ObjectKeyFromObject(o).String()})
}

// granted finds the Stacks that need a StackGrant of the namespace, and those of the namespace that they depend on: a
// deletion no longer waits for one whose StackGrant is withdrawn.
func (l lookups) granted(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	var stacks v1alpha1.StackList
	if err := l.cache.List(ctx, &stacks, client.UnsafeDisableDeepCopy,
		client.MatchingFields{snapshot.DependencyIndex: snapshot.InNamespace(o.GetNamespace())}); err != nil {
		return nil // only for a cache that is stopping
	}
	for i := range stacks.Items {
		stack := &stacks.Items[i]
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(stack)})
		for _, name := range stack.Dependencies() {
			if key := stack.KeyOf(name); key.Namespace == o.GetNamespace() {
				requests = append(requests, reconcile.Request{NamespacedName: key})
			}
		}
	}
	return requests
}

// unitUsers finds the Stacks whose code depends on the Terragrunt unit that a Stack runs, or ran.
func (l lookups) unitUsers(ctx context.Context, o client.Object) []reconcile.Request {
	unit := snapshot.UnitOf(o.(*v1alpha1.Stack))
	if unit == "" {
		return nil
	}
	same := client.InNamespace(o.GetNamespace())
	return l.list(ctx, &v1alpha1.StackList{}, same, client.MatchingFields{snapshot.UnitUserIndex: unit})
}

// related finds the Stacks that depend on a Stack, those that wait for it, and those that wait to be destroyed after
// it.
func (l lookups) related(ctx context.Context, o client.Object) []reconcile.Request {
	requests := append(l.dependentsAndWaiting(ctx, o), l.unitUsers(ctx, o)...)
	for _, name := range o.(*v1alpha1.Stack).Dependencies() {
		key, other := o.(*v1alpha1.Stack).KeyOf(name), &v1alpha1.Stack{}
		if err := l.cache.Get(ctx, key, other); err != nil {
			continue
		}
		if q, asked := runinfo.Requested(other, time.Now()); other.DeletionTimestamp != nil ||
			(asked && q.Operation == v1alpha1.OperationDestroy) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// dependentsAndWaiting finds the Stacks that name a Stack as a dependency, and those that depend on it by others and
// wait. The status of the latter may be late: they also check again after a time.
func (l lookups) dependentsAndWaiting(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	self := client.ObjectKeyFromObject(o)
	seen := map[client.ObjectKey]bool{self: true}
	for keys, direct := []client.ObjectKey{self}, true; len(keys) > 0; direct = false {
		var next []client.ObjectKey
		for _, key := range keys {
			var stacks v1alpha1.StackList
			if err := l.cache.List(ctx, &stacks, client.MatchingFields{snapshot.DependencyIndex: key.String()},
				client.UnsafeDisableDeepCopy); err != nil {
				return nil // only for a cache that is stopping
			}
			for i := range stacks.Items {
				stack, by := &stacks.Items[i], client.ObjectKeyFromObject(&stacks.Items[i])
				if seen[by] {
					continue
				}
				seen[by], next = true, append(next, by)
				if waits := decision.ReadyReason(stack.Status); direct || waits == v1alpha1.ReasonDependencyNotReady ||
					waits == v1alpha1.ReasonUpstreamHeld {
					requests = append(requests, reconcile.Request{NamespacedName: by})
				}
			}
		}
		keys = next
	}
	return requests
}

// list finds objects in the cache. Only their names are read, so they are not copied.
func (l lookups) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) []reconcile.Request {
	if err := l.cache.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // only for a cache that is stopping
	}
	var requests []reconcile.Request
	_ = apimeta.EachListItem(list, func(o runtime.Object) error { // fails only for what is no list
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
		return nil
	})
	return requests
}
