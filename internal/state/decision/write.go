package decision

import (
	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// AdmitWrite decides whether a state may follow the current one. The caller completes the Status of the Result,
// once the bytes are stored.
//
// A Run that is gone does not matter as long as the lock is held: no other can have begun since, and losing what
// the engine did would be worse. The same holds for a user, who has no Run: Runs of the Stack could only plan
// meanwhile, and a plan that is older than a state is detected.
func AdmitWrite(w Snapshot, by Holder, id string, next Summary) (*v1alpha1.StateStatus, error) {
	applies := by.User == ""
	if w.Run != nil {
		attempt, rejection := mayChange(CurrentAttempt, w.Run, by)
		if rejection != nil {
			return nil, rejection
		}
		applies = attempt.Phase == v1alpha1.AttemptApply
	}
	if rejection := checkLock(w.Status.Lock, by, id); rejection != nil {
		return nil, rejection
	}
	switch now := w.Status; {
	case now.Version == 0:
	case next.Lineage != now.Lineage:
		return nil, Reject(Stale, "the state has lineage %s, this one %s: it is another Stack's, or was recreated",
			now.Lineage, next.Lineage)
	case next.Serial == now.Serial && next.SHA256 == now.SHA256:
		return nil, nil
	case next.Serial <= now.Serial:
		return nil, Reject(Stale, "the state is at serial %d, this one has %d: it does not follow",
			now.Serial, next.Serial)
	}
	status := w.Status.DeepCopy()
	if !applies {
		disown(status, next.Lineage)
	}
	return status, nil
}

// Summary is what is written down of a state.
type Summary struct {
	Serial    int64
	Lineage   string
	SHA256    string
	Size      int64
	Resources int32
	// Outdated is the format of a state of Terraform before 0.12; 0 for others.
	Outdated int
	// Outputs are the fingerprints of the outputs, by name.
	Outputs map[string]string
}

// Accept adds a version as the current one, and returns the old ones that are no longer kept. A rescued state that
// becomes a version no longer waits.
func Accept(
	st v1alpha1.StateStatus, s Summary, v v1alpha1.StateVersion, keep int,
) (v1alpha1.StateStatus, []v1alpha1.StateVersion) {
	next := *st.DeepCopy()
	next.Version, next.Serial, next.Lineage = v.Version, s.Serial, s.Lineage
	next.SHA256, next.Size, next.Resources = s.SHA256, s.Size, v1alpha1.ResourceCount(s.Resources)
	next.UpdatedBy, next.Outputs = v.Run, s.Outputs
	if next.Rescued != nil && next.Rescued.SHA256 == s.SHA256 {
		next.Rescued = nil
	}
	var dropped []v1alpha1.StateVersion
	next.Versions, dropped = prune(append(next.Versions, v), keep)
	return next, dropped
}

// pruneBatch is how many versions past the ones that are kept may gather, so that not every write has to clean up.
const pruneBatch = 5

// prune keeps the newest versions. It drops none, or at least a batch.
func prune(versions []v1alpha1.StateVersion, keep int) (kept, dropped []v1alpha1.StateVersion) {
	extra := len(versions) - max(keep, 1)
	if extra < pruneBatch {
		return versions, nil
	}
	return versions[extra:], versions[:extra]
}

// Current is the current version.
func Current(st v1alpha1.StateStatus) (v1alpha1.StateVersion, bool) {
	if n := len(st.Versions); n > 0 && st.Versions[n-1].Version == st.Version {
		return st.Versions[n-1], true
	}
	return v1alpha1.StateVersion{}, false
}

// AdmitDelete decides whether a state may be deleted. Force accepts the loss of resources, but never interrupts an
// apply.
func AdmitDelete(w Snapshot, force bool) error {
	st := w.Status
	switch {
	case st.Lock != nil && st.Lock.ID != DeletionLock && !w.Over:
		return RejectLocked(w.Stack, st.Lock)
	case force:
		return nil
	case st.Resources == document.Unknown:
		return Reject(NotEmpty, "the state is encrypted by the engine: Cairn cannot read whether it still holds "+
			"resources")
	case st.Resources != 0:
		return Reject(NotEmpty, "the state still holds %d resources", st.Resources)
	case st.Rescued != nil:
		return Reject(NotEmpty, "attempt %d of Run %s left a newer state that is not a version yet",
			st.Rescued.Attempt, st.Rescued.Run)
	}
	return nil
}

// DeletionLock is the ID of the lock that a deletion takes, so that no Run begins while the bytes are deleted.
const DeletionLock = "deletion"

// IsEnding reports whether a state is being deleted: it is no longer written, and its bytes are deleted one by one.
func IsEnding(st v1alpha1.StateStatus) bool { return st.Lock != nil && st.Lock.ID == DeletionLock }
