package v1alpha1

// Reasons of events on a Stack. An event with the reason of its Ready condition is also recorded when that
// reason changes.
const (
	// EventRunCreateFailed: the API server rejects a Run of the Stack. Change what the message names; Cairn
	// tries again.
	EventRunCreateFailed = "RunCreateFailed"
	// EventRequestRejected: what was requested with annotations cannot be done. The message says why; request
	// something else.
	EventRequestRejected = "RequestRejected"
	// EventOldRunsCleanupFailed: Runs past the history limit, or what the bucket has of them, cannot be
	// deleted. Cairn tries again; the message says what to correct, as permissions of the bucket.
	EventOldRunsCleanupFailed = "OldRunsCleanupFailed"
)

// Reasons of events on a State. Each names the user, or the Run, that did it.
const (
	// EventStatePushed: a user wrote a version of the state.
	EventStatePushed = "StatePushed"
	// EventStateRolledBack: a user made an earlier version the current one.
	EventStateRolledBack = "StateRolledBack"
	// EventStateLocked: a user locked the state with an engine. `cairn state unlock` ends the lock.
	EventStateLocked = "StateLocked"
	// EventStateUnlocked: a user ended a lock of the state.
	EventStateUnlocked = "StateUnlocked"
	// EventStateRescued: a user restored a state that only the log of a pod had.
	EventStateRescued = "StateRescued"
	// EventStateRestored: a user decided what to do about a backup of the installation that is older than the
	// state.
	EventStateRestored = "StateRestored"
	// EventStateMigrationRequested: a user lets the next plan copy the state to a backend.
	EventStateMigrationRequested = "StateMigrationRequested"
	// EventStateMigrated: the state was copied to a backend, or back to Cairn.
	EventStateMigrated = "StateMigrated"
)
