package v1alpha1

// Reasons of events on a Stack. An event with the reason of its Ready condition is also recorded when that
// reason changes.
const (
	// EventRunCreateFailed: the API server rejects a Run of the Stack. Change what the message names; Cairn
	// retries.
	EventRunCreateFailed = "RunCreateFailed"
	// EventRequestRejected: Cairn cannot do what the annotations request. The message reports why; correct the
	// annotations.
	EventRequestRejected = "RequestRejected"
	// EventOldRunsCleanupFailed: Runs beyond the history limit, or their plans and logs, cannot be
	// deleted. Cairn retries; the message describes the error, such as permissions of the bucket.
	EventOldRunsCleanupFailed = "OldRunsCleanupFailed"
	// EventFinalizerRestored: a user removed the finalizer of the Stack, as kubectl replace does, and Cairn set it
	// again. A deletion without it does not destroy the resources.
	EventFinalizerRestored = "FinalizerRestored"
	// EventStateOrphaned: the Stack was deleted, and its State and the resources in it stay, because the Stack never
	// applied the state. The message has the number of resources and how to destroy them.
	EventStateOrphaned = "StateOrphaned"
)

// Reasons of events on a State. Each names the user or the Run that caused it.
const (
	// EventStatePushed: a user wrote a version of the state.
	EventStatePushed = "StatePushed"
	// EventStateRolledBack: a user restored an earlier version.
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
	// EventStateMigrationRequested: a user requested to copy the state to a backend with the next plan.
	EventStateMigrationRequested = "StateMigrationRequested"
	// EventStateMigrated: the state was copied to a backend, or back to Cairn.
	EventStateMigrated = "StateMigrated"
	// EventStateRescuedLate: the runner of an attempt that had ended sent a state that it could not write before, as
	// after a deletion of its pod by force. The message names the attempt; check the versions with `cairn state
	// history`.
	EventStateRescuedLate = "StateRescuedLate"
)

// Reasons of events on a Run.
const (
	// EventTokenMisused: the server rejected a request with the token of the Run's pod, because it is not from the
	// runner of that pod. Code that the pod runs, such as a hook or a provider, read the token. Check what this code
	// does.
	EventTokenMisused = "TokenMisused"
)

// eventReasons describes the reasons of this file.
var eventReasons = []Reason{
	{Name: EventRunCreateFailed, In: InEvent, Severity: SeverityError},
	{Name: EventRequestRejected, In: InEvent, Severity: SeverityWarning},
	{Name: EventOldRunsCleanupFailed, In: InEvent, Severity: SeverityWarning},
	{Name: EventFinalizerRestored, In: InEvent, Severity: SeverityWarning},
	{Name: EventStateOrphaned, In: InEvent, Severity: SeverityWarning},
	{Name: EventStatePushed, In: InEvent},
	{Name: EventStateRolledBack, In: InEvent},
	{Name: EventStateLocked, In: InEvent},
	{Name: EventStateUnlocked, In: InEvent},
	{Name: EventStateRescued, In: InEvent},
	{Name: EventStateRestored, In: InEvent},
	{Name: EventStateMigrationRequested, In: InEvent},
	{Name: EventStateMigrated, In: InEvent},
	{Name: EventStateRescuedLate, In: InEvent, Severity: SeverityWarning},
	{Name: EventTokenMisused, In: InEvent, Severity: SeverityWarning},
}
