package engine

import (
	"regexp"
	"slices"
	"strings"
)

// LockFailed is the summary of an engine that could not have a lock.
const LockFailed = "Error acquiring the state lock"

// HeldLock is what an engine told of a lock that it could not have.
type HeldLock struct {
	// Said is the backend's word. Example: Already locked for workspace creation: default.
	Said string
	// ID of the lock, Who has it, since when and for what, as its backend tells; all empty when it does not.
	ID, Who, Since, Operation string
}

// heldLock is how engines tell it, on one line.
var heldLock = regexp.MustCompile(`^Error message: (.*) Lock Info: ID: (\S*) Path: .* ?Operation: (\S*) Who: (\S*) Version: \S* Created: (.*?) Info:`)

// LockedBy finds what an engine told of a lock in a backend of a type.
//
// PostgreSQL's locks name nobody, and neither do some answers of http: then the engine shows the lock that it asked for, with its own name, as if it were
// the one that is held. Where an answer of http names the holder it has the ID twice.
func LockedBy(backend string, d Diagnostic) (HeldLock, bool) {
	found := heldLock.FindStringSubmatch(strings.Join(strings.Fields(d.Detail), " "))
	if d.Summary != LockFailed || found == nil {
		return HeldLock{}, false
	}
	held := HeldLock{Said: found[1], ID: found[2], Operation: found[3], Who: found[4], Since: found[5]}
	if slices.Contains([]string{"pg", "http"}, backend) && !strings.Contains(held.Said, "ID="+held.ID) {
		_, id, _ := strings.Cut(held.Said, "ID=")
		id, _, _ = strings.Cut(id, " ")
		held = HeldLock{Said: held.Said, ID: id}
	}
	return held, true
}
