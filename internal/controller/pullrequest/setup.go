package pullrequest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
)

// concurrent is the number of Repositories and of PullRequests that are reconciled at the same time: each may wait
// for a Git provider.
const concurrent = 8

// SetupWithManager adds the controller that discovers pull requests. The reconciler is d, or a wrapper of it.
func (d *Discovery) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named("discovery").
		For(&v1alpha1.Repository{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.PullRequest{}, handler.EnqueueRequestsFromMapFunc(d.deleted),
			builder.WithPredicates(deletions())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		Complete(reconciler)
}

// deletions passes the events of deletions.
func deletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// SetupWithManager adds the controller of PullRequests. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	find := lookups{r.Client}
	return ctrl.NewControllerManagedBy(mgr).Named("pullrequest").
		For(&v1alpha1.PullRequest{},
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, resends(), waitsForMore()))).
		Watches(&v1alpha1.PullRequest{}, handler.EnqueueRequestsFromMapFunc(find.sharing)).
		Watches(&v1alpha1.Run{}, handler.EnqueueRequestsFromMapFunc(plannedFor)).
		Watches(&v1alpha1.Repository{}, handler.EnqueueRequestsFromMapFunc(find.pullRequestsOf)).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(find.affectedBy),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, rulesChanged()))).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(find.waitingFor),
			builder.WithPredicates(progresses())).
		Watches(&v1alpha1.StackSet{}, handler.EnqueueRequestsFromMapFunc(find.listedBy),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.StackGrant{}, handler.EnqueueRequestsFromMapFunc(find.grantedBy)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		Complete(reconciler)
}

// rulesChanged passes the changes of what a Stack has from VariableSets and StackPolicies, and of the pull request that
// holds it.
func rulesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Stack), e.ObjectNew.(*v1alpha1.Stack)
		return !equality.Semantic.DeepEqual(before.Status.VariableSets, after.Status.VariableSets) ||
			!equality.Semantic.DeepEqual(before.Status.StackPolicies, after.Status.StackPolicies) ||
			!equality.Semantic.DeepEqual(before.Status.Hold, after.Status.Hold)
	}}
}

// plannedFor returns the PullRequest that a Run plans, or whose requirements it waits for.
func plannedFor(_ context.Context, o client.Object) []reconcile.Request {
	run := o.(*v1alpha1.Run)
	if of := run.Spec.PullRequest; of != nil {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: of.Namespace, Name: of.Name}}}
	}
	if required := run.Spec.Requirements; required != nil {
		of := required.PullRequest
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: of.Namespace, Name: of.Name}}}
	}
	return nil
}

// lookups find in the cache the PullRequests that an event is relevant to.
type lookups struct{ cache client.Reader }

// pullRequestsOf returns the PullRequests of a Repository: a fetch may have received their heads, or moved their base.
func (l lookups) pullRequestsOf(ctx context.Context, repo client.Object) []reconcile.Request {
	return l.list(ctx, client.ObjectKeyFromObject(repo))
}

// affectedBy returns the PullRequests of the Repository of a Stack.
func (l lookups) affectedBy(ctx context.Context, o client.Object) []reconcile.Request {
	if key, ok := o.(*v1alpha1.Stack).RepositoryKey(); ok {
		return l.list(ctx, key)
	}
	return nil
}

// listedBy returns the PullRequests of the Repository whose directories a StackSet lists.
func (l lookups) listedBy(ctx context.Context, o client.Object) []reconcile.Request {
	if key, ok := o.(*v1alpha1.StackSet).RepositoryKey(); ok {
		return l.list(ctx, key)
	}
	return nil
}

// grantedBy returns the PullRequests whose StackSets may write in the namespace of a StackGrant.
func (l lookups) grantedBy(ctx context.Context, grant client.Object) (requests []reconcile.Request) {
	var sets v1alpha1.StackSetList
	_ = l.cache.List(ctx, &sets, client.UnsafeDisableDeepCopy) // an error only from a cache that is stopping
	for i := range sets.Items {
		if set := &sets.Items[i]; slices.Contains(set.Spec.Namespaces, grant.GetNamespace()) {
			requests = append(requests, l.listedBy(ctx, set)...)
		}
	}
	return requests
}

func (l lookups) list(ctx context.Context, repo types.NamespacedName) []reconcile.Request {
	var pulls v1alpha1.PullRequestList
	of := client.MatchingFields{repository.PullRequestIndex: repo.Name}
	if err := l.cache.List(ctx, &pulls, client.InNamespace(repo.Namespace), of,
		client.UnsafeDisableDeepCopy); err != nil {
		return nil // only from a cache that is stopping
	}
	var requests []reconcile.Request
	for i := range pulls.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pulls.Items[i])})
	}
	return requests
}
