package state

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Rescue takes a state that its engine could not write, and the SHA256 of the version that it goes on from. The bytes are kept
// whatever is decided then, and become a version at once if that version is the current one and nobody else holds the lock. A
// Refusal for the Reason Diverged says that the state is kept, and that a user has to merge it. A caller who is no attempt of the
// Run is refused before anything is kept.
func (s *Store) Rescue(ctx context.Context, key types.NamespacedName, by Holder, base string, data []byte) error {
	st, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	w, err := s.look(ctx, st, by)
	if err != nil {
		return err
	}
	if refusal := mayRescue(w, by); refusal != nil {
		return refusal
	}
	sum := digest(data)
	if err := s.bucket.PutOnce(ctx, rescueKey(key, sum), data); err != nil {
		return fmt.Errorf("rescue state %s: %w", key, err)
	}
	summary, err := s.summarize(key, data)
	if err != nil {
		return refuse(Invalid, "%v; the bytes are kept in the bucket as %s", err, rescueKey(key, sum))
	}
	r := v1alpha1.RescuedState{
		SHA256: sum, Serial: summary.Serial, Lineage: summary.Lineage,
		Run: by.Run, Attempt: by.Attempt, Base: base, At: metav1.NewTime(s.Now()),
	}
	var refused *Refusal
	err = s.commitRescued(ctx, key, by, r, summary, data)
	if err == nil || errors.As(err, &refused) && refused.Reason != Diverged {
		return err
	}
	// It forked, another one holds the lock, or a version cannot be written right now, which may be why there is something to rescue.
	if kept := s.keepRescued(ctx, key, by, r); kept != nil {
		return fmt.Errorf("%w (%s)", kept, err.Error())
	}
	if refused != nil {
		return refused
	}
	return nil
}

// errWaits says that a rescued state cannot become a version now.
var errWaits = errors.New("another one holds the lock")

func (s *Store) commitRescued(
	ctx context.Context, key types.NamespacedName, by Holder, r v1alpha1.RescuedState, summary Summary, data []byte,
) error {
	next := &candidate{summary, data, by.origin()}
	_, err := s.commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		switch outcome, err := s.admitRescue(ctx, st, by, r); {
		case err != nil:
			return nil, err
		case outcome == RescueKeep:
			return nil, errWaits
		case outcome == RescueFork:
			return nil, forked(key, st.Status, r)
		case outcome == RescueDone:
			return nil, nil
		}
		status := st.Status.DeepCopy()
		if status.Rescued != nil && status.Rescued.SHA256 == r.SHA256 {
			status.Rescued = nil
		}
		return status, s.number(key, next, summary, data, firstSerial(st.Status, summary))
	})
	return err
}

func (s *Store) keepRescued(ctx context.Context, key types.NamespacedName, by Holder, r v1alpha1.RescuedState) error {
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		outcome, err := s.admitRescue(ctx, st, by, r)
		waiting := st.Status.Rescued
		if err != nil || outcome == RescueDone || waiting != nil && waiting.SHA256 == r.SHA256 {
			return nil, err
		}
		if waiting != nil && (waiting.Run != r.Run || waiting.Attempt != r.Attempt) { // neither has what the other made
			return nil, leftAlready(*waiting, r)
		}
		next := st.Status.DeepCopy()
		next.Rescued = &r
		return next, nil
	})
}

func (s *Store) admitRescue(ctx context.Context, st *v1alpha1.State, by Holder, r v1alpha1.RescuedState) (RescueOutcome, error) {
	w, err := s.look(ctx, st, by)
	if err != nil {
		return "", err
	}
	outcome, refusal := AdmitRescue(w, by, r)
	if refusal != nil {
		return "", refusal
	}
	return outcome, nil
}
