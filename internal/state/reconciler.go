package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
)

// Reconciler deletes States that users deleted, with all their bytes, once their Stack is gone: what a Stack with
// spec.deletionPolicy Orphan left. While there is a Stack its State stays.
type Reconciler struct {
	// Client reads from a cache.
	Client client.Reader
	States *Store
}

// SetupWithManager adds the controller of States. The reconciler is r, or a wrapper of it.
//
// Of ten thousand States none has anything to do at the start. Each one that is queued anyway takes memory that the
// process does not free.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	due := predicate.NewPredicateFuncs(func(o client.Object) bool { return isDue(o.(*v1alpha1.State)) })
	return ctrl.NewControllerManagedBy(mgr).Named("state").
		For(&v1alpha1.State{}, builder.WithPredicates(due)).
		Complete(reconciler)
}

// isDue reports whether a State has to be reconciled.
func isDue(st *v1alpha1.State) bool { return st.DeletionTimestamp != nil }

// Reconcile deletes a State that a user deleted, unless its Stack exists. A deletion that began before there was a
// Stack is completed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	st := &v1alpha1.State{}
	if err := r.Client.Get(ctx, req.NamespacedName, st); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if st.DeletionTimestamp == nil {
		return ctrl.Result{}, nil
	}
	if begun, err := r.States.resumeEnd(ctx, req.NamespacedName); begun || err != nil {
		return ctrl.Result{}, err
	}
	err := r.States.fence.Live.Get(ctx, req.NamespacedName, &v1alpha1.Stack{})
	if err == nil {
		// the end of the Stack ends it; this is for one that is orphaned
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("read Stack %s: %w", req.NamespacedName, err)
	}
	err = r.States.Purge(ctx, req.NamespacedName)
	if rejected, ok := errors.AsType[*decision.Rejection](err); ok { // only a user can change it
		r.States.fence.Log.Warn("a deleted State stays", "namespace", req.Namespace, "stack", req.Name, "reason",
			rejected.Message)
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	return ctrl.Result{}, err
}

// Lean removes from a State what no decision needs, for a cache with ten thousand of them: the facts about its
// bytes, all versions but the last one, of which number, time and author stay, and most metadata. Code that writes
// a State, or shows it to users, reads it without the cache.
func Lean(st *v1alpha1.State) {
	st.Labels, st.Annotations, st.OwnerReferences, st.Finalizers = nil, nil, nil, nil
	st.Spec = v1alpha1.StateSpec{}
	st.Status.Lineage, st.Status.SHA256 = "", ""
	if len(st.Status.Versions) == 0 {
		return
	}
	last := slices.MaxFunc(st.Status.Versions, func(a, b v1alpha1.StateVersion) int { return a.At.Compare(b.At.Time) })
	st.Status.Versions = []v1alpha1.StateVersion{{Version: last.Version, By: last.By, At: last.At}}
}
