package v1alpha1

// FailureClass says what to do about a failure.
//
// +kubebuilder:validation:Enum=Transient;ConfigurationError;PolicyDenied;PodLost;Canceled;StateNotSaved
type FailureClass string

// What to do about a failure. It is also the reason of the Succeeded condition of a Run that failed.
const (
	// FailureTransient: the same plan may succeed later; Cairn retries with a new plan, as often as spec.retry
	// allows.
	FailureTransient FailureClass = "Transient"
	// FailureConfigurationError: the code or its values are wrong. Correct them; the same inputs are not
	// retried.
	FailureConfigurationError FailureClass = "ConfigurationError"
	// FailurePolicyDenied: a policy denies the plan. Change the code or the policy; the same inputs are not
	// retried.
	FailurePolicyDenied FailureClass = "PolicyDenied"
	// FailureCanceled: a user canceled the Run; it is not retried.
	FailureCanceled FailureClass = "Canceled"
	// FailurePodLost: the pod went away before it reported; Cairn retries with a new plan.
	FailurePodLost FailureClass = "PodLost"
	// FailureStateNotSaved: the state after an apply could be neither written nor rescued; it is in the pod's
	// log. Recover it with `cairn state recover`. Nothing is planned before, since a plan without it would
	// create resources twice.
	FailureStateNotSaved FailureClass = "StateNotSaved"
)
