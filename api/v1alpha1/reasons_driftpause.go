package v1alpha1

// Reasons of the Ready condition of a DriftPause.
const (
	// ReasonMassDrift: an unusual number of Stacks of the namespace began to drift within an hour, so Cairn corrects no
	// drift. Find the cause, such as an outage of a provider; then `cairn drift resume -n NAMESPACE`.
	ReasonMassDrift = "MassDrift"
	// ReasonResumed: a user resumed the corrections of drift.
	ReasonResumed = "Resumed"
)

// driftPauseReasons describes the reasons of this file.
var driftPauseReasons = []Reason{
	{Name: ReasonMassDrift, In: InDriftPause, Severity: SeverityWarning, WaitsFor: WaitsForResume},
	{Name: ReasonResumed, In: InDriftPause},
}
