package state

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/fence"
)

// Rescue stores a state that its engine could not write, with the SHA256 of the version that it follows. The bytes
// are stored whatever the decision, and become a version at once if that version is the current one and the lock is
// free or the caller's. A Rejection with the Reason Diverged means that the state is stored, and that a user has to
// merge it. A caller that is no attempt of the Run is rejected before anything is stored.
func (s *Attempts) Rescue(
	ctx context.Context, key types.NamespacedName, by decision.Holder, base string, data []byte,
) error {
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return err
	}
	w, err := s.fence.Snapshot(ctx, st, by)
	if err != nil {
		return err
	}
	if rejection := decision.CheckRescuer(w, by); rejection != nil {
		return rejection
	}
	sum := document.Digest(data)
	if err := s.bucket.PutOnce(ctx, rescueKey(key, sum), data); err != nil {
		return fmt.Errorf("rescue state %s: %w", key, err)
	}
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return decision.Reject(decision.Invalid, "%v; the bytes are kept in the bucket as %s", err, rescueKey(key, sum))
	}
	r := v1alpha1.RescuedState{
		SHA256: sum, Serial: summary.Serial, Lineage: summary.Lineage,
		Run: by.Run, Attempt: by.Attempt, Base: base, At: metav1.NewTime(s.fence.Now()),
	}
	err = s.commitRescued(ctx, key, by, r, summary, data)
	rejected, final := errors.AsType[*decision.Rejection](err)
	if err == nil || final && rejected.Reason != decision.Diverged {
		return err
	}
	// It forked, another one holds the lock, or a version cannot be written right now, which may be the reason
	// for the rescue.
	if kept := s.keepRescued(ctx, key, by, r); kept != nil {
		return fmt.Errorf("%w (%s)", kept, err.Error())
	}
	if final {
		return rejected
	}
	return nil
}

// errWaits means that a rescued state cannot become a version now.
var errWaits = errors.New("another one holds the lock")

func (s *Attempts) commitRescued(
	ctx context.Context, key types.NamespacedName, by decision.Holder, r v1alpha1.RescuedState,
	summary decision.Summary, data []byte,
) error {
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.OriginOf(by)}
	_, err := s.fence.Commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, int64, error) {
		switch outcome, err := s.admitRescue(ctx, st, by, r); {
		case err != nil:
			return nil, 0, err
		case outcome == decision.RescueKeep:
			return nil, 0, errWaits
		case outcome == decision.RescueFork:
			return nil, 0, decision.RejectFork(key, st.Status, r)
		case outcome == decision.RescueDone:
			return nil, 0, nil
		}
		return withoutRescued(st, r), decision.FirstSerial(st.Status, summary), nil
	})
	return err
}

func (s *Attempts) keepRescued(
	ctx context.Context, key types.NamespacedName, by decision.Holder, r v1alpha1.RescuedState,
) error {
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		outcome, err := s.admitRescue(ctx, st, by, r)
		waiting := st.Status.Rescued
		if err != nil || outcome == decision.RescueDone || waiting != nil && waiting.SHA256 == r.SHA256 {
			return nil, err
		}
		// neither has the changes of the other
		if waiting != nil && (waiting.Run != r.Run || waiting.Attempt != r.Attempt) {
			return nil, decision.RejectSecondRescue(*waiting, r)
		}
		next := st.Status.DeepCopy()
		next.Rescued = &r
		return next, nil
	})
}

func (s *Attempts) admitRescue(
	ctx context.Context, st *v1alpha1.State, by decision.Holder, r v1alpha1.RescuedState,
) (decision.RescueOutcome, error) {
	w, err := s.fence.Snapshot(ctx, st, by)
	if err != nil {
		return "", err
	}
	return decision.AdmitRescue(w, by, r)
}

// withoutRescued is the status of a State in which a rescued state does not wait any more.
func withoutRescued(st *v1alpha1.State, r v1alpha1.RescuedState) *v1alpha1.StateStatus {
	next := st.Status.DeepCopy()
	if next.Rescued != nil && next.Rescued.SHA256 == r.SHA256 {
		next.Rescued = nil
	}
	return next
}

// Promote writes a newer rescued state as the current version, after restoring the State from its backup if Kubernetes
// has gone back in time. It has to succeed before each plan and apply: a plan from an outdated state would create
// resources again.
func (s *Backups) Promote(ctx context.Context, key types.NamespacedName) error {
	_, err := s.prepare(ctx, key)
	return err
}

// BeginPlan is Promote for the plan of an attempt, which starts with the version that there is then: ReadPlanned
// returns it without another read of the State.
func (s *Attempts) BeginPlan(ctx context.Context, key types.NamespacedName, by decision.Holder) error {
	now, err := s.backups.prepare(ctx, key)
	if err == nil {
		s.fence.BeginPlan(key, by, now)
	}
	return err
}

// prepare does what Promote describes. It returns the status afterwards, which is empty where it is not known.
func (s *Backups) prepare(ctx context.Context, key types.NamespacedName) (v1alpha1.StateStatus, error) {
	now, err := s.restore(ctx, key)
	if err != nil || now.Rescued == nil {
		return now, err
	}
	return v1alpha1.StateStatus{}, s.promote(ctx, key, *now.Rescued)
}

// promote writes a rescued state as the current version, if it is newer.
func (s *Backups) promote(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState) error {
	data, err := s.readRescued(ctx, key, r)
	if err != nil {
		return err
	}
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return decision.Reject(decision.Damaged, "the state that attempt %d of Run %s rescued: %v", r.Attempt,
			r.Run, err)
	}
	by := decision.Holder{Run: r.Run, Attempt: r.Attempt}
	older := false
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.OriginOf(by)}
	_, err = s.fence.Commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, int64, error) {
		older = false
		if st.Status.Rescued == nil || st.Status.Rescued.SHA256 != r.SHA256 {
			return nil, 0, nil
		}
		switch decision.CompareRescued(st.Status, r) {
		case decision.Forked:
			return nil, 0, decision.RejectFork(key, st.Status, r)
		case decision.Same, decision.Older:
			older = true
			return nil, 0, nil
		}
		status, err := s.unlocked(ctx, st)
		if err != nil {
			return nil, 0, err
		}
		status.Rescued = nil
		return status, decision.FirstSerial(st.Status, summary), nil
	})
	if err != nil || !older {
		return err
	}
	return s.dropRescued(ctx, key, r)
}

// unlocked is the status without the lock of a holder that is over. While another one holds it nothing is promoted.
func (s *Backups) unlocked(ctx context.Context, st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
	next := st.Status.DeepCopy()
	if next.Lock == nil {
		return next, nil
	}
	gone, err := s.fence.IsOver(ctx, st.Namespace, next.Lock)
	if err != nil {
		return nil, err
	}
	if !gone {
		return nil, decision.RejectLocked(st.Name, next.Lock)
	}
	next.Lock = nil
	return next, nil
}

func (s *Backups) dropRescued(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState) error {
	err := s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if st.Status.Rescued == nil || st.Status.Rescued.SHA256 != r.SHA256 {
			return nil, nil
		}
		return withoutRescued(st, r), nil
	})
	if err == nil {
		s.fence.Log.Warn("a rescued state is not newer than the current one; it stays in the bucket",
			"namespace", key.Namespace, "stack", key.Name, "run", r.Run, "attempt", r.Attempt, "serial", r.Serial,
			"object", rescueKey(key, r.SHA256))
	}
	return err
}

// rescueFolder has the states that their attempts could not write.
func rescueFolder(key types.NamespacedName) string {
	return "rescue/" + key.Namespace + "/" + key.Name
}

func rescueKey(key types.NamespacedName, digest string) string {
	return rescueFolder(key) + "/" + digest
}
