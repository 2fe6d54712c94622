package state

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// Reason is why a request is refused for good: sending it again changes nothing. Any other error may pass.
type Reason string

// Why a request is refused.
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
type Refusal struct {
	Reason  Reason
	Message string
	// Lock that is in the way, when the Reason is Locked.
	Lock *v1alpha1.Lock
}

func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
