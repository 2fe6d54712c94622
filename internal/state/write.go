package state

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Lock locks a state for an attempt, and returns the SHA256 of the version that the attempt starts from. It takes
// the lock from its holder only when that one is known to be over.
func (s *Store) Lock(
	ctx context.Context, key types.NamespacedName, by decision.Holder, want decision.LockRequest,
) (base string, err error) {
	var from *v1alpha1.Lock
	var before, inputs string // those that the State named, and those that it names now
	remembered := s.recent.get(key)
	err = s.updateFrom(ctx, key, remembered, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		base, before, inputs = st.Status.SHA256, st.Status.InputsDigest, st.Status.InputsDigest
		w, err := s.snapshot(ctx, st, by)
		if err != nil {
			return nil, err
		}
		next, err := decision.AdmitLock(w, by, want)
		if decision.ReasonOf(err) == decision.Locked && st.Status.Lock != nil {
			if w.Over, err = s.isOver(ctx, key.Namespace, st.Status.Lock); err != nil {
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
			err = s.recordHeld(ctx, key, st.Status)
		}
		return next, err
	})
	if err == nil && inputs != before {
		s.collectInputs(ctx, key, before, inputs)
	}
	if err == nil && from != nil {
		s.Log.Warn("took the lock of a state over from an attempt whose pod is gone",
			"namespace", key.Namespace, "stack", key.Name, "run", by.Run, "attempt", by.Attempt,
			"fromRun", from.Run, "fromAttempt", from.Attempt, "fromPodUID", from.PodUID, "heldSince", from.Since)
	}
	return base, err
}

// Unlock releases the lock.
func (s *Store) Unlock(ctx context.Context, key types.NamespacedName, by decision.Holder, id string) error {
	return s.updateRecent(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		return decision.AdmitUnlock(decision.Snapshot{Stack: st.Name, Status: st.Status}, by, id)
	})
}

// Write stores data as the next version of a state, for the holder of its lock. When it returns nil the version
// counts and is durable; after an error that is no Rejection it may count or not, and a retry finds out.
func (s *Store) Write(ctx context.Context, key types.NamespacedName, by decision.Holder, id string, data []byte) error {
	_, err := s.WriteVersion(ctx, key, by, id, data)
	return err
}

// WriteVersion is Write, and returns the status afterwards.
func (s *Store) WriteVersion(
	ctx context.Context, key types.NamespacedName, by decision.Holder, id string, data []byte,
) (Outcome, error) {
	summary, err := s.summarize(key, data)
	if err != nil {
		return Outcome{}, decision.Reject(decision.Invalid, "%v", err)
	}
	given := &candidate{summary, data, originOf(by)}
	admit := func(st *v1alpha1.State) (next *v1alpha1.StateStatus, serial int64, err error) {
		w, err := s.snapshot(ctx, st, by)
		if err != nil {
			return nil, 0, err
		}
		given.from.stack = decision.StackOf(w.Run)
		next, err = decision.AdmitWrite(w, by, id, summary)
		if next != nil && by.User != "" { // what a user took out of the state is not taken back
			err = s.recordHeld(ctx, key, st.Status)
		}
		return next, 0, err
	}
	if by.User != "" {
		return s.commit(ctx, key, given, admit)
	}
	return s.commitFrom(ctx, key, s.recent.get(key), given, admit)
}

// candidate is a state that is to become a version.
type candidate struct {
	decision.Summary
	data []byte
	from origin
}

// admission decides whether a candidate may follow the version that a State has. It returns the status that the new
// version is added to, nil for none, and the serial that the candidate gets; 0 leaves it the one that it has.
type admission func(*v1alpha1.State) (status *v1alpha1.StateStatus, serial int64, err error)

// commit stores the bytes first and then declares them the current version, if admit still admits them for the
// State that is swapped. Bytes are stored again only when they or the version's number changed in between. It returns
// the status afterwards.
func (s *Store) commit(
	ctx context.Context, key types.NamespacedName, given *candidate, admit admission,
) (Outcome, error) {
	return s.commitFrom(ctx, key, nil, given, admit)
}

// commitFrom is commit that first decides on a remembered State, as updateFrom does.
func (s *Store) commitFrom(
	ctx context.Context, key types.NamespacedName, remembered *v1alpha1.State, given *candidate, admit admission,
) (Outcome, error) {
	var next candidate
	var version v1alpha1.StateVersion // whose bytes are stored
	var dropped []v1alpha1.StateVersion
	var now Outcome
	err := s.updateFrom(ctx, key, remembered, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		now, dropped = Outcome{st.Status, true}, nil
		admitted, serial, err := admit(st)
		if err != nil || admitted == nil {
			return nil, err
		}
		if serial == 0 {
			next = *given
		} else if next.Serial != serial {
			if next, err = s.renumber(key, *given, serial); err != nil {
				return nil, err
			}
		}
		if number := admitted.Version + 1; version.Version != number || version.SHA256 != next.SHA256 {
			stored, err := s.versions.Put(ctx, key, newVersion(number, next.Summary, given.from, s.date(given.from)), next.data)
			if err != nil {
				return nil, err
			}
			version = stored
		}
		now.StateStatus, dropped = decision.Accept(*admitted, next.Summary, version, s.Keep)
		now.Unchanged = false
		return &now.StateStatus, nil
	})
	if err == nil && !now.Unchanged {
		s.describe(ctx, key, given.from.stack, now.StateStatus, next.data)
	}
	if err == nil && len(dropped) > 0 {
		s.versions.Collect(ctx, key, now.StateStatus, dropped)
	}
	return now, err
}

// describe writes what the bucket has of the current version beside its bytes: its backup and its index. Both can be
// written again.
func (s *Store) describe(
	ctx context.Context, key types.NamespacedName, stack types.UID, now v1alpha1.StateStatus, data []byte,
) {
	log := s.Log.With("namespace", key.Namespace, "stack", key.Name, "version", now.Version)
	if err := s.backUpFor(ctx, key, stack, now, data); err != nil {
		log.Warn("a state has no backup for now", "error", err)
	}
	if now.Resources <= 0 {
		return
	}
	if _, err := s.writeIndex(ctx, key, data); err != nil {
		log.Warn("a state has no index for now", "error", err)
	}
}

// renumber is the candidate with another serial.
func (s *Store) renumber(key types.NamespacedName, given candidate, serial int64) (candidate, error) {
	data, err := document.WithSerial(given.data, serial)
	if err != nil {
		return candidate{}, decision.Reject(decision.Invalid, "the state cannot get serial %d: %v", serial, err)
	}
	summary, err := s.summarize(key, data)
	if err != nil {
		return candidate{}, decision.Reject(decision.Invalid, "%v", err)
	}
	return candidate{summary, data, given.from}, nil
}

// date is when a version counts as written. Of it whole seconds are kept.
func (s *Store) date(from origin) metav1.Time {
	at := s.Now()
	if !at.Truncate(time.Second).After(from.after) {
		at = from.after.Add(time.Second)
	}
	return metav1.NewTime(at)
}

// summarize reads a state file.
func (s *Store) summarize(key types.NamespacedName, data []byte) (decision.Summary, error) {
	d, err := document.Parse(data)
	if err != nil {
		return decision.Summary{}, err
	}
	return decision.Summary{
		Serial: d.Serial, Lineage: d.Lineage, SHA256: document.Digest(data), Size: int64(len(data)), Resources: d.Resources,
		Outdated: d.Outdated, Outputs: s.fingerprints(key, d.Outputs),
	}, nil
}

// origin is the author of a version: an attempt of a Run, or a user.
type origin struct {
	run     string
	attempt int32
	by      string
	// stack is the UID of the Stack of the Run; empty where it is not known.
	stack types.UID
	// after is the time of what it was written after, whatever the clock shows.
	after time.Time
}

func originOf(by decision.Holder) origin {
	return origin{run: by.Run, attempt: by.Attempt, by: by.User}
}

// newVersion is the next version of a state. Where its bytes are is filled in once they are there.
func newVersion(number int64, s decision.Summary, from origin, at metav1.Time) v1alpha1.StateVersion {
	return v1alpha1.StateVersion{
		Version: number, Serial: s.Serial, SHA256: s.SHA256, Size: s.Size,
		Run: from.run, Attempt: from.attempt, By: from.by, At: at,
	}
}
