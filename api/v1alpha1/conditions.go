package v1alpha1

// Condition types.
const (
	// ConditionReady of a Stack: what was last applied is what is declared. Of a Repository: it was fetched,
	// and the last fetch succeeded.
	ConditionReady = "Ready"
	// ConditionDrifted of a Stack: resources differ from what was applied. An apply overwrites what was
	// changed; to keep the change, take it over into the code first. It is there only while true.
	ConditionDrifted = "Drifted"
	// ConditionUntrackedResources of a Stack: there are resources that an apply created and that no state has.
	// Import or delete them, then apply. It is there only while true.
	ConditionUntrackedResources = "UntrackedResources"
	// ConditionWholeRepository of a Stack: every commit to its Repository plans it, since its code names
	// something that is not known before the engine runs. Literal paths limit that. It is there only while
	// true.
	ConditionWholeRepository = "WholeRepository"
	// ConditionStalled of a Stack or a Repository: nothing will change until a user acts. Of a Run: it failed
	// or was canceled. It is there only while true.
	ConditionStalled = "Stalled"
	// ConditionReconciling of a Run: it is not finished. It is there only while true.
	ConditionReconciling = "Reconciling"
	// ConditionSucceeded of a Run: Unknown until it is finished.
	ConditionSucceeded = "Succeeded"
)

// Reasons of the conditions that are there only while true, where they do not have the reason of Ready or
// Succeeded.
const (
	// ReasonDriftDetected of Drifted: a drift check found a difference. `cairn diff` shows it.
	ReasonDriftDetected = "DriftDetected"
	// ReasonNotImported of UntrackedResources: the resources could not be imported into the state. Import or
	// delete them.
	ReasonNotImported = "NotImported"
	// ReasonReadsUnknown of WholeRepository: which files the code reads is not known before the engine runs.
	ReasonReadsUnknown = "ReadsUnknown"
)
