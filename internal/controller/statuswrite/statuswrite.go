// Package statuswrite writes statuses of objects that several clients change.
package statuswrite

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes the status of an object if it differs from that of before. The error is a conflict if another client
// changed the object since before was read.
func Patch(ctx context.Context, c client.Client, before, after client.Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return c.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// Failed returns the result of a reconcile whose write failed. After a conflict, with an annotation for example, there
// may be no event: the object is reconciled again after a delay. One that is gone is no error.
func Failed(err error, again time.Duration) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
