package state

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
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

// standing compares a rescued state with the current version.
//
// The serial tells nothing when somebody else wrote in between: both then counted on from the same one, and who wrote more
// often has the higher. An equal one is enough when the same attempt wrote both, since what it rescues is its last word: an
// engine that could not persist its first state does not count up before it gives it away.
func standing(st v1alpha1.StateStatus, r v1alpha1.RescuedState) Standing {
	last, ok := current(st)
	same := ok && r.Run != "" && last.Run == r.Run && last.Attempt == r.Attempt
	switch {
	case st.Version == 0:
		return Newer
	case r.SHA256 == st.SHA256:
		return Same
	case r.Lineage != st.Lineage:
		return Forked
	case r.Serial == st.Serial && same:
		return Newer
	case arrived(st, r):
		return Older
	case ok && !same && isLater(last, r):
		return Forked
	case r.Serial <= st.Serial:
		return Older
	}
	return Newer
}

// isLater says that somebody else wrote a version after an attempt handed in what it rescued; of no known attempt it cannot be
// told. Times are kept by the second: within one the version is the later one, since what the attempt began with is older.
func isLater(v v1alpha1.StateVersion, r v1alpha1.RescuedState) bool {
	switch {
	case r.Run == "":
		return false
	case v.Run == r.Run && v.Attempt > r.Attempt:
		return true
	}
	return !v.At.Time.Before(r.At.Time)
}

// arrived says that a rescued state was a version, or a later one of the same attempt was: nothing of it is lost, whoever
// wrote since. So it is when it is sent again because its answer was lost.
func arrived(st v1alpha1.StateStatus, r v1alpha1.RescuedState) bool {
	return slices.ContainsFunc(st.Versions, func(v v1alpha1.StateVersion) bool {
		return v.SHA256 == r.SHA256 || r.Run != "" && v.Run == r.Run && v.Attempt == r.Attempt && v.Serial > r.Serial
	})
}

// overtaken says that somebody else wrote after the caller's attempt had begun, so that the two forked. Within a Run the
// attempts' numbers tell. Another Run can only have written after the caller's was finished, for a Stack has one Run at
// a time, and a person between two attempts; then the clock has to tell, and the caller began minutes before.
func overtaken(w World, by Holder) bool {
	last, ok := current(w.Status)
	if !ok {
		return false
	}
	if last.Run == by.Run {
		return last.Attempt > by.Attempt
	}
	if w.Run == nil || last.Run != "" && !w.Run.Status.Phase.Finished() {
		return false
	}
	attempt, refusal := NamedAttempt(w.Run, by)
	return refusal == nil && last.At.After(attempt.StartedAt.Time)
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
)

// AdmitRescue says what becomes of a rescued state whose bytes are in the bucket already. It is taken from any attempt
// that the Run names, over or not, and from the holder of the lock when the Run is gone.
func AdmitRescue(w World, by Holder, r v1alpha1.RescuedState) (RescueOutcome, *Refusal) {
	if refusal := mayRescue(w, by); refusal != nil {
		return "", refusal
	}
	switch s := standing(w.Status, r); {
	case s == Same || arrived(w.Status, r):
		return RescueDone, nil
	case s == Older && !overtaken(w, by):
		return RescueDone, nil
	case s == Forked || overtaken(w, by):
		return "", refuse(Stale, "somebody else wrote the state (serial %d, lineage %s) since attempt %d of Run %s began: "+
			"what it rescued (serial %d, lineage %s) is kept in the bucket, for a person to merge",
			w.Status.Serial, w.Status.Lineage, by.Attempt, by.Run, r.Serial, r.Lineage)
	}
	if waiting := w.Status.Rescued; waiting != nil && waiting.SHA256 != r.SHA256 &&
		(waiting.Lineage != r.Lineage || waiting.Serial > r.Serial) {
		return "", leftAlready(*waiting, r)
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
	case st.Resources == Unknown:
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
