// Package stackset reconciles StackSets: it lists what a set generates, decides, and writes Stacks.
package stackset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

const (
	// soon is the shortest time between two reconciles of a set that its own Stacks cause: each of them writes its
	// status several times in a Run.
	soon = time.Second
	// later is when what a user has to correct is tried again.
	later = time.Minute
)

// Mirrors have the commits of Repositories.
type Mirrors interface {
	// Commit returns the commit that a ref names; "" is the default branch.
	Commit(ctx context.Context, uid types.UID, ref string) (*git.Mirror, git.Commit, error)
}

// Reconciler writes the Stacks of StackSets.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache, before anything is changed or deleted.
	Live    client.Reader
	Mirrors Mirrors
	// Tree lists the files of a commit; Mirror.Tree when nil.
	Tree func(context.Context, *git.Mirror, string) (*git.Tree, error)
	// Units read Terragrunt units.
	Units  *closure.Closures
	Events events.EventRecorder
	// Watches reports whether the operator watches a namespace; nil for all.
	Watches func(namespace string) bool
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time

	sets sets
}

// Reconcile gathers, decides, writes Stacks and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	set := &v1alpha1.StackSet{}
	err := r.Client.Get(ctx, req.NamespacedName, set)
	if apierrors.IsNotFound(err) || (err == nil && set.DeletionTimestamp != nil) {
		r.sets.forget(req.NamespacedName) // its Stacks stay
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	known := r.sets.of(set)
	w, err := r.gather(ctx, set, known)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gather: %w", err)
	}
	if w.Problem != nil && w.Problem.Pending && set.Status.ObservedGeneration == set.Generation {
		return ctrl.Result{RequeueAfter: later}, nil // the event of the fetch is sooner
	}
	if w.Problem == nil && known.isBehind(w.Stacks) {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	d := decision.Decide(w)
	out := r.write(ctx, w, d, known)
	err = errors.Join(out.err, r.report(ctx, set, decision.Status(w, d, out.failures)))
	r.record(w, out)
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: soon}, nil // a newer version is on its way
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case out.again:
		return ctrl.Result{RequeueAfter: soon}, nil
	case len(out.failures) > 0:
		return ctrl.Result{RequeueAfter: known.nextTry(w.Now)}, nil
	case d.Stalled || w.Problem != nil:
		return ctrl.Result{RequeueAfter: later}, nil
	}
	return ctrl.Result{}, nil
}

// report writes the status if it changed.
func (r *Reconciler) report(ctx context.Context, set *v1alpha1.StackSet, next v1alpha1.StackSetStatus) error {
	if equality.Semantic.DeepEqual(set.Status, next) {
		return nil
	}
	before := set.DeepCopy()
	set.Status = next
	return r.Client.Status().Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
