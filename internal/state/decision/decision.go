// Package decision has the rules for states: who gets the lock, which version may follow, what becomes of a rescued state and of a backup, and when a
// state may be deleted. Its functions are pure: a Snapshot in, a Result out.
//
// Everything in a Snapshot is read without a cache, since an outdated answer about who may write is worse than none.
package decision

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// World is what a decision is made from. All of it is read past every cache.
type Snapshot struct {
	// Status of the State; the zero one when there is no State.
	Status v1alpha1.StateStatus
	// Run of the caller; nil when it is gone.
	Run *v1alpha1.Run
	// Over: the holder of the lock is known to be over.
	Over bool
	// Busy is a Run of the Stack that has an attempt under way or waits for an approval, for what people ask; nil when none is. What
	// waits was planned, and is read, for the state as it is.
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

// Verdict is what becomes of a request: a Refusal, or a Status to write, or neither when all is as it should be.
type Result struct {
	Rejection *Rejection
	Status    *v1alpha1.StateStatus
}

// Stranded is an attempt that made a state which it could send nowhere.
type Stranded struct {
	Run     string
	Attempt int32
	At      metav1.MicroTime
}

// isLost says that what a stranded attempt made is in no version: none was written since.
func isLost(w Snapshot) bool {
	return w.Stranded != nil && !slices.ContainsFunc(w.Status.Versions, func(v v1alpha1.StateVersion) bool {
		return v.At.After(w.Stranded.At.Time)
	})
}

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
	// Diverged: what is handed in and what is there both went on from one before, and a user has to merge them.
	Diverged Reason = "Diverged"
	// Invalid: the request makes no sense.
	Invalid Reason = "Invalid"
	// Opaque: what is asked for is in bytes that Cairn cannot look into.
	Opaque Reason = "Opaque"
	// Damaged: the bytes that are kept are not the ones that count.
	Damaged Reason = "Damaged"
	// Missing: what is asked for is not kept.
	Missing Reason = "Missing"
	// NotEmpty: there is something that a deletion would lose.
	NotEmpty Reason = "NotEmpty"
)

// Refusal is an error that says why, in a sentence for a person.
type Rejection struct {
	Reason  Reason
	Message string
	// Lock that is in the way, when the Reason is Locked.
	Lock *v1alpha1.Lock
}

func (r *Rejection) Error() string { return r.Message }

func Reject(reason Reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
