package state

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Lock gives the lock of a state to an attempt, and the SHA256 of the version that the attempt starts from. It is taken from its
// holder only when that one is known to be over.
func (s *Store) Lock(ctx context.Context, key types.NamespacedName, by Holder, want LockRequest) (base string, err error) {
	var from *v1alpha1.Lock
	err = s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		base = st.Status.SHA256
		w, err := s.look(ctx, st, by)
		if err != nil {
			return nil, err
		}
		v := AdmitLock(w, by, want)
		if v.Refusal != nil && v.Refusal.Reason == Locked && st.Status.Lock != nil {
			if w.Over, err = s.over(ctx, key.Namespace, st.Status.Lock); err != nil {
				return nil, err
			}
			v = AdmitLock(w, by, want)
		}
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		if from = nil; w.Over {
			from = st.Status.Lock
		}
		if w.Run != nil && w.Run.Spec.Operation == v1alpha1.OperationShell { // whose work is a person's
			err = s.noteHeld(ctx, key, st.Status)
		}
		return v.Status, err
	})
	if err == nil && from != nil {
		s.Log.Warn("took the lock of a state over from an attempt whose pod is gone",
			"namespace", key.Namespace, "stack", key.Name, "run", by.Run, "attempt", by.Attempt,
			"fromRun", from.Run, "fromAttempt", from.Attempt, "fromPodUID", from.PodUID, "heldSince", from.Since)
	}
	return base, err
}

// Unlock gives the lock back.
func (s *Store) Unlock(ctx context.Context, key types.NamespacedName, by Holder, id string) error {
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		v := AdmitUnlock(World{Status: st.Status}, by, id)
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		return v.Status, nil
	})
}
