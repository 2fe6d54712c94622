package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// damagedAgain is how soon a state whose bytes are damaged is read again: a backup may have brought them back.
const damagedAgain = time.Hour

// Reconciler ends the States that a person deleted, with all their bytes, once no Stack has them: what a Stack with
// spec.deletionPolicy Orphan left. While there is a Stack its State stays, whoever deletes it. States that an earlier Cairn wrote
// get the fingerprints of their outputs.
type Reconciler struct {
	// Client reads from a cache.
	Client client.Reader
	States *Store
}

// Due says that there is something to do for a State. Of ten thousand there is for none at a start, and what is queued and looked at all the same
// takes memory that a process keeps.
func Due(st *v1alpha1.State) bool { return unread(st.Status) || st.DeletionTimestamp != nil }

// Reconcile looks whether a State lacks fingerprints, and whether it is to end.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	st := &v1alpha1.State{}
	if err := r.Client.Get(ctx, req.NamespacedName, st); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var refused *Refusal
	var result ctrl.Result
	if unread(st.Status) {
		if err := r.States.FillOutputs(ctx, req.NamespacedName); errors.As(err, &refused) {
			r.States.Log.Warn("outputs of a state are not known", "namespace", req.Namespace, "stack", req.Name, "reason", refused.Message)
			result.RequeueAfter = damagedAgain
		} else if err != nil {
			return ctrl.Result{}, err
		}
	}
	if st.DeletionTimestamp == nil {
		return result, nil
	}
	return r.end(ctx, req)
}

// end ends a State that a person deleted, unless its Stack is there. What was begun before there was one is finished.
func (r *Reconciler) end(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if begun, err := r.States.goOn(ctx, req.NamespacedName); begun || err != nil {
		return ctrl.Result{}, err
	}
	err := r.States.live.Get(ctx, req.NamespacedName, &v1alpha1.Stack{})
	if err == nil {
		return ctrl.Result{RequeueAfter: time.Minute}, nil // the end of the Stack ends it; this is for one that is orphaned
	}
	if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("read Stack %s: %w", req.NamespacedName, err)
	}
	var refused *Refusal
	if err := r.States.Purge(ctx, req.NamespacedName); errors.As(err, &refused) {
		r.States.Log.Warn("a deleted State stays", "namespace", req.Namespace, "stack", req.Name, "reason", refused.Message)
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}
