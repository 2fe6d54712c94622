package state

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"
)

// Attempts are the requests of runners: the lock and the versions of an attempt, and the inputs that it applies.
type Attempts struct {
	fence    *fence.Fence
	bucket   storage.Bucket
	backups  *Backups
	journals *Journals
}

// Lock locks a state for an attempt, and returns the SHA256 of the version that the attempt starts from. It takes
// the lock from its holder only when that one is known to be over.
func (s *Attempts) Lock(
	ctx context.Context, key types.NamespacedName, by decision.Holder, want decision.LockRequest,
) (base string, err error) {
	var from *v1alpha1.Lock
	var before, inputs string // those that the State named, and those that it names now
	remembered := s.fence.Recent(key)
	err = s.fence.UpdateFrom(ctx, key, remembered, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		base, before, inputs = st.Status.SHA256, st.Status.InputsDigest, st.Status.InputsDigest
		w, err := s.fence.Snapshot(ctx, st, by)
		if err != nil {
			return nil, err
		}
		next, err := decision.AdmitLock(w, by, want)
		if decision.ReasonOf(err) == decision.Locked && st.Status.Lock != nil {
			if w.Over, err = s.fence.IsOver(ctx, key.Namespace, st.Status.Lock); err != nil {
				return nil, err
			}
			next, err = decision.AdmitLock(w, by, want)
		}
		if err != nil {
			return nil, err
		}
		if from = nil; w.Over {
			from = st.Status.Lock
		}
		if next != nil {
			inputs = next.InputsDigest
		}
		if w.Run != nil && w.Run.Spec.Operation == v1alpha1.OperationShell { // a user works in it
			if st == remembered { // what is recorded stays, so the State has to be read for it
				return nil, nil
			}
			err = s.journals.recordHeld(ctx, key, st.Status)
		}
		return next, err
	})
	if err == nil && inputs != before {
		s.collectInputs(ctx, key, before, inputs)
	}
	if err == nil && from != nil {
		s.fence.Log.Warn("took the lock of a state over from an attempt whose pod is gone",
			"namespace", key.Namespace, "stack", key.Name, "run", by.Run, "attempt", by.Attempt,
			"fromRun", from.Run, "fromAttempt", from.Attempt, "fromPodUID", from.PodUID, "heldSince", from.Since)
	}
	return base, err
}

// Unlock releases the lock.
func (s *Attempts) Unlock(ctx context.Context, key types.NamespacedName, by decision.Holder, id string) error {
	return s.fence.UpdateRecent(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		return decision.AdmitUnlock(decision.Snapshot{Stack: st.Name, Status: st.Status}, by, id)
	})
}

// Write stores data as the next version of a state, for the holder of its lock. When it returns nil the version
// counts and is durable; after an error that is no Rejection it may count or not, and a retry finds out.
func (s *Attempts) Write(ctx context.Context, key types.NamespacedName, by decision.Holder, id string,
	data []byte) error {
	_, err := s.WriteVersion(ctx, key, by, id, data)
	return err
}

// WriteVersion is Write, and returns the status afterwards.
func (s *Attempts) WriteVersion(
	ctx context.Context, key types.NamespacedName, by decision.Holder, id string, data []byte,
) (fence.Outcome, error) {
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return fence.Outcome{}, decision.Reject(decision.Invalid, "%v", err)
	}
	given := &fence.Candidate{Summary: summary, Data: data, From: fence.OriginOf(by)}
	admit := func(st *v1alpha1.State) (next *v1alpha1.StateStatus, serial int64, err error) {
		w, err := s.fence.Snapshot(ctx, st, by)
		if err != nil {
			return nil, 0, err
		}
		given.From.Stack = decision.StackOf(w.Run)
		next, err = decision.AdmitWrite(w, by, id, summary)
		if next != nil && by.User != "" { // what a user took out of the state is not taken back
			err = s.journals.recordHeld(ctx, key, st.Status)
		}
		return next, 0, err
	}
	if by.User != "" {
		return s.fence.Commit(ctx, key, given, admit)
	}
	return s.fence.CommitFrom(ctx, key, s.fence.Recent(key), given, admit)
}

// HeldBy is the State whose lock a pod holds; nil when there is none. It is how a pod whose Run was deleted under it is
// still known.
func (s *Attempts) HeldBy(ctx context.Context, namespace string, pod types.UID) (*v1alpha1.State, error) {
	if pod == "" {
		return nil, nil
	}
	states := &v1alpha1.StateList{}
	for {
		err := s.fence.Live.List(ctx, states, client.InNamespace(namespace), client.Limit(fence.Page),
			client.Continue(states.Continue))
		if err != nil {
			return nil, fmt.Errorf("list States in %s: %w", namespace, err)
		}
		for i := range states.Items {
			if lock := states.Items[i].Status.Lock; lock != nil && lock.PodUID == pod {
				return &states.Items[i], nil
			}
		}
		if states.Continue == "" {
			return nil, nil
		}
	}
}
