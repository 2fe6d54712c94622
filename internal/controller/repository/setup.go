package repository

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"cairn.dev/cairn/api/v1alpha1"
)

// SetupWithManager adds the controller of Repositories. The reconciler is r, or a wrapper of it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named("repository").
		For(&v1alpha1.Repository{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.Stack{}, handler.EnqueueRequestsFromMapFunc(repositoryOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.StackSet{}, handler.EnqueueRequestsFromMapFunc(listedBy),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.PullRequest{}, handler.EnqueueRequestsFromMapFunc(pulledFrom),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.repositoriesOf)).
		WatchesRawSource(source.Channel(r.Mirrors.Ended(), handler.TypedEnqueueRequestsFromMapFunc(fetched))).
		Complete(reconciler)
}

// fetched returns the Repository of a fetch that ended.
func fetched(_ context.Context, repo types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: repo}}
}

// repositoryOf returns the Repository that a Stack reads from.
func repositoryOf(_ context.Context, o client.Object) []reconcile.Request {
	if key, ok := o.(*v1alpha1.Stack).RepositoryKey(); ok {
		return []reconcile.Request{{NamespacedName: key}}
	}
	return nil
}

// listedBy returns the Repository whose directories a StackSet lists.
func listedBy(_ context.Context, o client.Object) []reconcile.Request {
	if key, ok := o.(*v1alpha1.StackSet).RepositoryKey(); ok {
		return []reconcile.Request{{NamespacedName: key}}
	}
	return nil
}

// pulledFrom returns the Repository of a PullRequest, whose head may have to be fetched.
func pulledFrom(_ context.Context, o client.Object) []reconcile.Request {
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.PullRequest).Spec.Repository.Name}
	return []reconcile.Request{{NamespacedName: key}}
}

// repositoriesOf returns the Repositories that read their credentials from a Secret. Only their names are read, so the
// objects are not copied.
func (r *Reconciler) repositoriesOf(ctx context.Context, secret client.Object) []reconcile.Request {
	repos := &v1alpha1.RepositoryList{}
	err := r.Client.List(ctx, repos, client.InNamespace(secret.GetNamespace()),
		client.MatchingFields{SecretIndex: secret.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // only from a cache that is stopping
	}
	var requests []reconcile.Request
	for i := range repos.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&repos.Items[i])})
	}
	return requests
}
