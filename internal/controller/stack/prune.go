package stack

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

const (
	// mostOld is how many Runs past spec.runHistoryLimit wait until the bucket has deleted their objects. Older ones do
	// not wait: the API server, and the status of their Stack, cannot hold the Runs of years.
	mostOld = 100
	// mostRejected is how many deletions may fail in one pass before it stops: one Run must not hold up the others, but
	// a server that rejects that many rejects all.
	mostRejected = 3
	// pruneAgain is when those that could not be deleted are tried again, where nothing else happens before.
	pruneAgain = 15 * time.Minute
)

// prune deletes the oldest finished Runs past spec.runHistoryLimit; the newest Run stays, since the status refers to
// it. Those that cannot be deleted are in an event, and are in unpruned afterwards.
func (r *Reconciler) prune(ctx context.Context, w *decision.Snapshot) error {
	old := decision.RunsToPrune(*w)
	var bucketErrs, deleteErrs []error // by the bucket, by the API server
	left := 0
	for i := range old {
		one, over := &old[i], i < len(old)-mostOld
		kept := len(bucketErrs) >= mostRejected
		if !kept {
			if err := r.Runs.Forget(ctx, one); err != nil {
				bucketErrs, kept = append(bucketErrs, err), true
			}
		}
		if (kept && !over) || len(deleteErrs) >= mostRejected {
			w.Unpruned = append(w.Unpruned, one.Name)
			continue
		}
		if err := r.deleteRun(ctx, one); err != nil {
			deleteErrs = append(deleteErrs, err)
			w.Unpruned = append(w.Unpruned, one.Name)
		} else if kept {
			left++
		}
	}
	err := errors.Join(append(bucketErrs, deleteErrs...)...)
	if err != nil {
		r.Events.PruneFailed(*w, left, err)
	}
	return err
}

// deleteRun deletes an old Run. Another one's of its name stays.
func (r *Reconciler) deleteRun(ctx context.Context, old *v1alpha1.Run) error {
	err := r.Client.Delete(ctx, old, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &old.UID},
		client.DisableReadYourWritesConsistency) // a cache that has no such Runs never hears that one is gone
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
