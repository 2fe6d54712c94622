// Package decision has the rules for states: who gets the lock, which version may follow, what becomes of a rescued
// state and of a backup, and when a state may be deleted. Its functions are pure. Those
// named Admit decide on a request: they return the status to write, nil when nothing has to change, or a Rejection.
//
// Everything in a Snapshot is read without a cache, since an outdated answer about who may write is worse than
// none.
package decision

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot has the facts for a decision. All of them are read without a cache.
type Snapshot struct {
	// Stack is its name, for the commands in messages.
	Stack string
	// Status of the State; the zero one when there is no State.
	Status v1alpha1.StateStatus
	// Run of the caller; nil when it is gone.
	Run *v1alpha1.Run
	// Over: the holder of the lock is known to be over.
	Over bool
	// Busy is a Run of the Stack that has an attempt under way or waits for an approval, for requests of users; nil
	// when there is none. A plan that waits is for the state as it is now.
	Busy *v1alpha1.Run
	// Stranded is where the last state was lost that could be sent nowhere; nil when none was.
	Stranded *Stranded
	// Unsaved are addresses of what an apply that was killed created and that is in no state, for a user's engine.
	Unsaved []string
	// Backend is the engine's own that the Stack names, for what users ask; empty when Cairn keeps the state.
	Backend string
	// Now, for what is written down.
	Now metav1.Time
}

// Stranded is an attempt that could not send its last state anywhere.
type Stranded struct {
	Run     string
	Attempt int32
	At      metav1.MicroTime
}

// isLost reports whether the state of a stranded attempt is in no version: none was written after it. What the attempt
// itself wrote, and what is older than that, was written before, whatever the clock of the server that wrote it shows.
func isLost(w Snapshot) bool {
	if w.Stranded == nil {
		return false
	}
	var own int64 // the last version that the attempt wrote
	for _, v := range w.Status.Versions {
		if v.Run == w.Stranded.Run && v.Attempt == w.Stranded.Attempt {
			own = max(own, v.Version)
		}
	}
	return !slices.ContainsFunc(w.Status.Versions, func(v v1alpha1.StateVersion) bool {
		return v.Version > own && v.At.After(w.Stranded.At.Time)
	})
}

// AddRun adds the facts of one Run of the Stack.
func (w *Snapshot) AddRun(run *v1alpha1.Run) {
	n := len(run.Status.Attempts)
	if n == 0 {
		return
	}
	last := run.Status.Attempts[n-1]
	if last.FinishedAt == nil || run.Status.Phase == v1alpha1.PhaseAwaitingApproval {
		w.Busy = run
		return
	}
	lost := last.Failure != nil && last.Failure.Class == v1alpha1.FailureStateNotSaved
	if lost && (w.Stranded == nil || w.Stranded.At.Before(last.FinishedAt)) {
		w.Stranded = &Stranded{Run: run.Name, Attempt: last.Number, At: *last.FinishedAt}
	}
}

// Reason is why a request is rejected for good: sending it again changes nothing. Any other error may pass.
type Reason string

// Why a request is rejected.
const (
	// NotCurrent: the caller is not the attempt that the Run is at.
	NotCurrent Reason = "NotCurrent"
	// Locked: another one holds the lock.
	Locked Reason = "Locked"
	// Busy: a Run of the Stack is at work.
	Busy Reason = "Busy"
	// NotHolder: what the caller wants needs the lock, and the caller does not hold it.
	NotHolder Reason = "NotHolder"
	// Stale: what is written does not follow what is there.
	Stale Reason = "Stale"
	// Diverged: the state that was sent and the current one both follow an earlier one, and a user has to merge
	// them.
	Diverged Reason = "Diverged"
	// Invalid: the request is malformed.
	Invalid Reason = "Invalid"
	// Opaque: the requested content is in bytes that Cairn cannot decode.
	Opaque Reason = "Opaque"
	// Damaged: the bytes that are kept are not the ones that count.
	Damaged Reason = "Damaged"
	// Missing: what is asked for is not kept.
	Missing Reason = "Missing"
	// NotEmpty: a deletion would lose resources or a newer state.
	NotEmpty Reason = "NotEmpty"
)

// Rejection is an error with a reason and a message for users.
type Rejection struct {
	Reason  Reason
	Message string
	// Lock that prevents it, when the Reason is Locked.
	Lock *v1alpha1.Lock
}

func (r *Rejection) Error() string { return r.Message }

// ReasonOf is the reason of an error that is a Rejection; empty for any other.
func ReasonOf(err error) Reason {
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		return rejection.Reason
	}
	return ""
}

// Reject returns a Rejection.
func Reject(reason Reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
