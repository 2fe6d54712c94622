package v1alpha1

// Condition types.
const (
	// ConditionReady of a Stack: the declared inputs are applied, no drift is detected and nothing failed. Of a
	// Repository: the last fetch succeeded.
	ConditionReady = "Ready"
	// ConditionDrifted of a Stack: resources differ from what was applied. An apply overwrites the
	// changes; to keep them, add them to the code first. Set only while true.
	ConditionDrifted = "Drifted"
	// ConditionContended of a Stack: within a day, drift began three times after Cairn had applied. Another writer and
	// Cairn change the same resources in turns. Set only while true.
	ConditionContended = "Contended"
	// ConditionUntrackedResources of a Stack: an apply created resources that are not in the state.
	// Import or delete them, then apply. Set only while true.
	ConditionUntrackedResources = "UntrackedResources"
	// ConditionWholeRepository of a Stack: every commit to its Repository starts a plan, because the code
	// reads files whose paths are not known before the engine runs. Use literal paths to avoid this. Set only
	// while true.
	ConditionWholeRepository = "WholeRepository"
	// ConditionEnvironmentIgnored of a Stack: the engine does not get some environment variables of the Stack.
	// Remove them. Set only while true.
	ConditionEnvironmentIgnored = "EnvironmentIgnored"
	// ConditionStalled of a Stack or a Repository: Cairn waits until a user acts. Of a Run: it failed or was
	// canceled. Set only while true.
	ConditionStalled = "Stalled"
	// ConditionReconciling of a Run: it is in progress. Set only while true.
	ConditionReconciling = "Reconciling"
	// ConditionSucceeded of a Run: whether it succeeded. Unknown until it finishes.
	ConditionSucceeded = "Succeeded"
)

// Reasons of the conditions that are set only while true, unless they have the reason of Ready or Succeeded.
const (
	// ReasonDriftDetected of Drifted: a drift check found a difference. `cairn diff` shows it.
	ReasonDriftDetected = "DriftDetected"
	// ReasonTwoWriters of Contended: another writer and Cairn change the same resources in turns. The message has the
	// Runs, and the time of the last change of the other writer. Let only one of them write.
	ReasonTwoWriters = "TwoWriters"
	// ReasonNotImported of UntrackedResources: the resources could not be imported into the state. Import or
	// delete them.
	ReasonNotImported = "NotImported"
	// ReasonReadsUnknown of WholeRepository: the files that the code reads are not known before the engine runs.
	ReasonReadsUnknown = "ReadsUnknown"
	// ReasonVariablesWithheld of EnvironmentIgnored: the variables change what the engine does. Remove them.
	ReasonVariablesWithheld = "VariablesWithheld"
)

// otherReasons describes the reasons of the conditions that are set only while true.
var otherReasons = []Reason{
	{Name: ReasonDriftDetected, In: InOther, Severity: SeverityWarning},
	{Name: ReasonTwoWriters, In: InOther, Severity: SeverityWarning},
	{Name: ReasonNotImported, In: InOther, Severity: SeverityWarning},
	{Name: ReasonReadsUnknown, In: InOther, Severity: SeverityWarning},
	{Name: ReasonVariablesWithheld, In: InOther, Severity: SeverityWarning},
}
