package v1alpha1

// FailureClass is the class of a failure. It decides whether Cairn retries.
//
// +kubebuilder:validation:Enum=Transient;ConfigurationError;PolicyDenied;PodLost;Canceled;StateNotSaved
type FailureClass string

// Classes of failures. The class is also the reason of the Succeeded condition of a failed Run.
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
	// FailurePodLost: the pod ended before it reported a result; Cairn retries with a new plan.
	FailurePodLost FailureClass = "PodLost"
	// FailureStateNotSaved: the state after an apply could be neither written nor rescued; it is in the pod's
	// log. Recover it with `cairn state recover`. Cairn plans nothing before that, because a plan without it
	// would create resources twice.
	FailureStateNotSaved FailureClass = "StateNotSaved"
)
