package state

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// Standing is how a rescued state stands to the current version.
type Standing string

// How a rescued state stands to the current version.
const (
	// Newer: it has to become the current version before anybody plans.
	Newer Standing = "Newer"
	// Same: it is the current version.
	Same Standing = "Same"
	// Older: the current version is past it.
	Older Standing = "Older"
	// Forked: both go on from a common one, or have none in common. Only a person can tell what to do.
	Forked Standing = "Forked"
)

// standing compares a rescued state with the current version. It follows the very version that it came from, by its content, and
// nothing else: serials and times do not tell who knew of what. That is its base, or what the same attempt wrote by itself, since
// the rescued state is its last word; an answer to that write may have been lost, so that the base is older.
func standing(st v1alpha1.StateStatus, r v1alpha1.RescuedState) Standing {
	last, _ := current(st)
	switch {
	case st.Version == 0:
		return Newer
	case r.SHA256 == st.SHA256:
		return Same
	case arrived(st, r):
		return Older
	case r.Lineage != st.Lineage:
		return Forked
	case r.Base == st.SHA256, wroteItself(st, r, last):
		return Newer
	}
	return Forked
}

// arrived reports whether a rescued state was a version, or a later one of the same attempt was: nothing of it is lost, whoever
// wrote since. So it is when it is sent again because its answer was lost.
func arrived(st v1alpha1.StateStatus, r v1alpha1.RescuedState) bool {
	return slices.ContainsFunc(st.Versions, func(v v1alpha1.StateVersion) bool {
		return v.SHA256 == r.SHA256 || wroteItself(st, r, v) && v.Serial > r.Serial
	})
}

// wroteItself reports whether the attempt of a rescued state wrote a version. Where an engine's own backend keeps the state, it
// only read the version there, and anybody may have written it.
func wroteItself(st v1alpha1.StateStatus, r v1alpha1.RescuedState, v v1alpha1.StateVersion) bool {
	return st.Backend == nil && r.Run != "" && v.Run == r.Run && v.Attempt == r.Attempt
}

// RescueOutcome is what becomes of a state that could not be written when it was made.
type RescueOutcome string

// What becomes of a rescued state.
const (
	// RescueKeep: it waits in status.rescued until the next plan.
	RescueKeep RescueOutcome = "Keep"
	// RescueCommit: it becomes a version at once.
	RescueCommit RescueOutcome = "Commit"
	// RescueDone: there is nothing to do; the current version is this one or past it.
	RescueDone RescueOutcome = "Done"
	// RescueFork: it waits in status.rescued until a user has merged it with the current version.
	RescueFork RescueOutcome = "Fork"
)

// AdmitRescue says what becomes of a rescued state whose bytes are in the bucket already. It is taken from any attempt
// that the Run names, over or not, and from the holder of the lock when the Run is gone.
func AdmitRescue(w World, by Holder, r v1alpha1.RescuedState) (RescueOutcome, *Refusal) {
	if refusal := mayRescue(w, by); refusal != nil {
		return "", refusal
	}
	stands := standing(w.Status, r)
	if stands == Same || stands == Older {
		return RescueDone, nil
	}
	if waiting := w.Status.Rescued; waiting != nil && waiting.SHA256 != r.SHA256 &&
		(waiting.Lineage != r.Lineage || waiting.Serial > r.Serial) {
		return "", leftAlready(*waiting, r)
	}
	if stands == Forked {
		return RescueFork, nil
	}
	if w.Status.Lock == nil || holds(w.Status.Lock, by) {
		return RescueCommit, nil
	}
	return RescueKeep, nil
}

func leftAlready(waiting, r v1alpha1.RescuedState) *Refusal {
	return refuse(Stale, "attempt %d of Run %s left a rescued state already (serial %d); this one (serial %d) is kept "+
		"in the bucket, for a person to merge", waiting.Attempt, waiting.Run, waiting.Serial, r.Serial)
}

// mayRescue says whether the caller is an apply that was begun. It need not be the current one any more.
func mayRescue(w World, by Holder) *Refusal {
	if holds(w.Status.Lock, by) {
		return nil
	}
	if w.Run == nil {
		return refuse(NotCurrent, "Run %s is gone, and attempt %d does not hold the lock", by.Run, by.Attempt)
	}
	attempt, refusal := NamedAttempt(w.Run, by)
	if refusal == nil {
		refusal = applies(attempt, w.Run)
	}
	return refusal
}

// AdmitDelete says whether a state may go for good. Force gives up what it holds, never an apply under way.
func AdmitDelete(w World, force bool) *Refusal {
	st := w.Status
	switch {
	case st.Lock != nil && st.Lock.ID != deletion && !w.Over:
		return lockedBy(st.Lock)
	case force:
		return nil
	case st.Resources == document.UnknownResources:
		return refuse(NotEmpty, "the state is encrypted by the engine: Cairn cannot tell whether it still holds resources")
	case st.Resources != 0:
		return refuse(NotEmpty, "the state still holds %d resources", st.Resources)
	case st.Rescued != nil:
		return refuse(NotEmpty, "attempt %d of Run %s left a newer state that is not a version yet", st.Rescued.Attempt, st.Rescued.Run)
	}
	return nil
}

// deletion is the ID of the lock that a deletion takes, so that nobody begins while the bytes go.
const deletion = "deletion"

// ends says that a state is being deleted: nobody writes it any more, and what it had goes piece by piece.
func ends(st v1alpha1.StateStatus) bool { return st.Lock != nil && st.Lock.ID == deletion }
