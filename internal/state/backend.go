package state

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/fence"
)

// Follow updates the State to what an attempt found in the Stack's own backend; data is empty when the backend has
// no state. The result is what is still to be done: nothing, or writing the current version to the backend. moved
// is the move that a user requested, once it is complete.
func (s *Attempts) Follow(
	ctx context.Context, key types.NamespacedName, by decision.Holder, backend string, data []byte,
) (v decision.FollowResult, moved *v1alpha1.StateMove, err error) {
	s.fence.ForgetPlan(key) // what is pushed into the backend is the version that is current after this
	seen := decision.Observed{Type: backend}
	next := &fence.Candidate{Data: data, From: fence.OriginOf(by)}
	if len(data) > 0 {
		if next.Summary, err = s.fence.Summarize(key, data); err != nil {
			return v, nil, decision.Reject(decision.Invalid, "what backend %s has is %v", backend, err)
		}
		seen.State = &next.Summary
	}
	decide := func(st *v1alpha1.State) (err error) {
		moved = nil
		w, err := s.fence.Snapshot(ctx, st, by)
		if err != nil {
			return err
		}
		if w.Status.Lock != nil && !decision.Holds(w.Status.Lock, by) {
			if w.Over, err = s.fence.IsOver(ctx, key.Namespace, w.Status.Lock); err != nil {
				return err
			}
		}
		if seen.Equal, err = s.equals(ctx, key, st.Status, next); err != nil {
			return err
		}
		if seen.Unmoved, err = s.unmoved(ctx, key, st.Status, next); err != nil {
			return err
		}
		if v, err = decision.AdmitFollow(w, by, seen); err != nil {
			return err
		}
		if v.Status != nil && v.Status.Move == nil && seen.Equal && next.Lineage == st.Status.Lineage {
			moved = st.Status.Move
		}
		return nil
	}
	_, err = s.fence.Commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, int64, error) {
		if err := decide(st); err != nil || v.Action != decision.FollowWrite {
			return nil, 0, err
		}
		return v.Status, 0, s.journals.recordHeld(ctx, key, st.Status) // a change outside of Cairn is a user's change
	})
	if err != nil || v.Action != decision.FollowMark {
		return v, moved, err
	}
	err = s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if err := decide(st); err != nil {
			return nil, err
		}
		if v.Action != decision.FollowMark {
			return nil, errors.New("the State changed meanwhile")
		}
		return v.Status, nil
	})
	return v, moved, err
}

// equals reports whether a state is the current version, apart from what engines rewrite when they receive one: the
// lineage, the serial and their own version. It compares only where that matters.
func (s *Attempts) equals(
	ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus, next *fence.Candidate,
) (bool, error) {
	switch {
	case len(next.Data) == 0 || now.Version == 0:
		return false, nil
	case next.SHA256 == now.SHA256:
		return true, nil
	case next.Lineage != now.Lineage && now.Move == nil && (now.Backend == nil || now.Backend.Version > 0):
		return false, nil // nothing was put there
	case next.Lineage == now.Lineage && next.Serial < now.Serial:
		return false, nil
	case next.Lineage == now.Lineage && next.Serial > now.Serial && now.Move == nil &&
		(now.Backend == nil || now.Backend.Version == now.Version):
		return false, nil // the backend has a later version, and nothing was written there
	}
	data, err := s.backups.Read(ctx, key)
	if err != nil {
		return false, err
	}
	return document.SameContent(data, next.Data)
}

// unmoved reports whether a state is the version that the backend was seen to have last. An engine writes its own
// version into what it prints, so that the bytes need not be the same. A version that is not kept any more cannot
// be compared.
func (s *Attempts) unmoved(
	ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus, next *fence.Candidate,
) (bool, error) {
	if len(next.Data) == 0 || now.Backend == nil || now.Backend.Version == now.Version || next.Lineage != now.Lineage ||
		next.Serial != now.Backend.Serial {
		return false, nil
	}
	data, err := s.backups.ReadVersion(ctx, key, now.Backend.Version)
	if errors.Is(err, ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return document.SameContent(data, next.Data)
}

// Move records that a user wants the state to move to where the Stack's spec names now. It returns the types of the
// old and the new backend; empty where Cairn has the state. shown is as for Push.
func (s *Users) Move(
	ctx context.Context, key types.NamespacedName, by string, shown int64,
) (now v1alpha1.StateStatus, from, to string, err error) {
	if _, err := s.backups.restore(ctx, key); err != nil {
		return now, "", "", err
	}
	err = s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.snapshotForUser(ctx, st, shown)
		if err != nil {
			return nil, err
		}
		next, err := decision.AdmitMove(w, w.Backend != "", by)
		if err != nil {
			return nil, err
		}
		if from, to = "", w.Backend; st.Status.Backend != nil {
			from = st.Status.Backend.Type
		}
		now = *next
		return next, nil
	})
	return now, from, to, err
}
