package runnerapi

// Classes of a failure that a runner reports. They are those of v1alpha1.FailureClass, which the runner does not import since the
// API brings Kubernetes with it; a test of internal/server compares them.
const (
	FailureTransient          = "Transient"
	FailureConfigurationError = "ConfigurationError"
	FailurePolicyDenied       = "PolicyDenied"
	FailureCanceled           = "Canceled"
	FailureStateNotSaved      = "StateNotSaved"
)

// ReasonBackendInCode is the one reason that a runner reports, as v1alpha1.ReasonBackendInCode.
const ReasonBackendInCode = "BackendInCode"
