package stack

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/stack/decision"
)

const (
	// mostOld is how many Runs past spec.runHistoryLimit wait for a bucket to let go of what it has of them. Older ones go without that: in the API
	// server, and in the status of their Stack, there is no room for those of years.
	mostOld = 100
	// mostRefused is how many cannot be deleted in one pass before no more are tried: one need not hold up the others, but who refuses that
	// many refuses all.
	mostRefused = 3
	// pruneAgain is when those that could not be deleted are tried again, where nothing else happens before.
	pruneAgain = 15 * time.Minute
)

// prune deletes the oldest finished Runs past spec.runHistoryLimit; the newest Run stays, since the status speaks of it. Those that cannot be
// deleted are told, and are in unpruned afterwards.
func (r *Reconciler) prune(ctx context.Context, w *decision.Snapshot) error {
	old := decision.RunsToPrune(*w)
	var refused, held []error // by the bucket, by the API server
	left := 0
	for i := range old {
		one, over := &old[i], i < len(old)-mostOld
		kept := len(refused) >= mostRefused
		if !kept {
			if err := r.Runs.Forget(ctx, one); err != nil {
				refused, kept = append(refused, err), true
			}
		}
		if (kept && !over) || len(held) >= mostRefused {
			w.Unpruned = append(w.Unpruned, one.Name)
			continue
		}
		if err := r.deleteRun(ctx, one); err != nil {
			held = append(held, err)
			w.Unpruned = append(w.Unpruned, one.Name)
		} else if kept {
			left++
		}
	}
	err := errors.Join(append(refused, held...)...)
	if err != nil {
		r.Events.PruneFailed(*w, left, err)
	}
	return err
}

// deleteRun deletes an old Run. Another one's of its name stays.
func (r *Reconciler) deleteRun(ctx context.Context, old *v1alpha1.Run) error {
	err := r.Client.Delete(ctx, old, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &old.UID},
		client.DisableReadYourWritesConsistency) // a cache that has no such Runs never hears that one is gone
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
