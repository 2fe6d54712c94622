package runnerapi

// Classes of a failure that a runner reports. They are those of v1alpha1.FailureClass, which the runner does not import
// since the API imports Kubernetes; a test of internal/server compares them.
const (
	FailureTransient          = "Transient"
	FailureConfigurationError = "ConfigurationError"
	FailurePolicyDenied       = "PolicyDenied"
	FailureCanceled           = "Canceled"
	FailureStateNotSaved      = "StateNotSaved"
)

// Reasons of a failure that a runner reports. They are those of v1alpha1.FailureReason.
const (
	ReasonBackendInCode     = "BackendInCode"
	ReasonDiskFull          = "DiskFull"
	ReasonFilesNotDelivered = "FilesNotDelivered"
	ReasonInterrupted       = "Interrupted"
	ReasonPlanMismatch      = "PlanMismatch"
	ReasonPreventDestroy    = "PreventDestroy"
)
