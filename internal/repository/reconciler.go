package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/tracing"
)

// Reconciler fetches the mirrors of Repositories, and reports their status.
type Reconciler struct {
	Client client.Client
	// Live reads the Secrets with credentials, which no cache holds.
	Live    client.Reader
	Mirrors *Mirrors
	Events  events.EventRecorder
	// Traces receives a span for each commit that a fetch received; nil for none.
	Traces *tracing.Tracer
	// Mine reports whether this operator writes the status of Repositories of a namespace; nil for all. Of others
	// it only fetches the mirrors that its own Stacks read from.
	Mine func(namespace string) bool
	// Clock; time.Now when nil.
	Clock func() time.Time

	swept struct {
		sync.Mutex
		done bool
	}
}

// Reconcile gathers, decides, reports and begins a fetch. It does not wait for it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	repo := &v1alpha1.Repository{}
	err := r.Client.Get(ctx, req.NamespacedName, repo)
	if apierrors.IsNotFound(err) || (err == nil && repo.DeletionTimestamp != nil) {
		return ctrl.Result{}, r.Mirrors.Forget(req.NamespacedName, "")
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.tidy(ctx, repo); err != nil {
		return ctrl.Result{}, fmt.Errorf("remove old mirrors: %w", err)
	}
	w, auth, err := r.gather(ctx, repo)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gather: %w", err)
	}
	if !r.mine(repo) {
		if used, err := r.used(ctx, repo); err != nil || !used {
			return ctrl.Result{}, errors.Join(err, r.Mirrors.Forget(req.NamespacedName, ""))
		}
	}
	d := Decide(w)
	if err := r.report(ctx, w, d); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil // a newer version is on its way
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.Fetch {
		r.Mirrors.Fetch(repo, auth, w.Ask, commits(w))
	}
	return ctrl.Result{RequeueAfter: d.RequeueAfter}, nil
}

// tidy removes mirrors of Repositories that are gone: an earlier one of the same name and, once in the life of the
// process, all that were deleted before it.
func (r *Reconciler) tidy(ctx context.Context, repo *v1alpha1.Repository) error {
	if err := r.Mirrors.Forget(client.ObjectKeyFromObject(repo), repo.UID); err != nil {
		return err
	}
	r.swept.Lock()
	defer r.swept.Unlock()
	if r.swept.done {
		return nil
	}
	var all v1alpha1.RepositoryList
	if err := r.Client.List(ctx, &all); err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for _, one := range all.Items {
		there[one.UID] = true
	}
	err := r.Mirrors.Keep(there)
	r.swept.done = err == nil
	return err
}

func (r *Reconciler) mine(repo *v1alpha1.Repository) bool {
	return r.Mine == nil || r.Mine(repo.Namespace)
}

// used reports whether Stacks read from a Repository.
func (r *Reconciler) used(ctx context.Context, repo *v1alpha1.Repository) (bool, error) {
	var stacks v1alpha1.StackList
	err := r.Client.List(ctx, &stacks, client.MatchingFields{StackIndex: client.ObjectKeyFromObject(repo).String()}, client.UnsafeDisableDeepCopy)
	return slices.ContainsFunc(stacks.Items, func(s v1alpha1.Stack) bool { return Allows(repo, s.Namespace) }), err
}

func (r *Reconciler) report(ctx context.Context, w Snapshot, d Decision) error {
	if !r.mine(w.Repository) {
		return nil
	}
	next := status(w, d)
	if equality.Semantic.DeepEqual(w.Repository.Status, next) {
		return nil
	}
	before := w.Repository.DeepCopy()
	w.Repository.Status = next
	if err := r.Client.Status().Patch(ctx, w.Repository, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.recordEvent(before, w.Repository)
	r.Traces.Send(spans(before, w.Repository, w.Last)...)
	return nil
}

// recordEvent records the Ready condition as an event when it changed.
func (r *Reconciler) recordEvent(before, after *v1alpha1.Repository) {
	was := apimeta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := apimeta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || is.Status == metav1.ConditionUnknown || (was != nil && was.Reason == is.Reason && was.Message == is.Message) {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(after, nil, kind, is.Reason, "Reconcile", "%s", runinfo.Note(is.Message))
}
