package v1alpha1

// FailureClass is the class of a failure. It decides whether Cairn retries.
//
// +kubebuilder:validation:Enum=Transient;ConfigurationError;PolicyDenied;PodLost;Canceled;StateNotSaved
type FailureClass string

// FailureReason is a more specific reason of a failure than its class.
//
// +kubebuilder:validation:Enum=BackendInCode;DiskFull;FilesNotDelivered;ImagePullFailed;Interrupted;PlanMismatch;PodTerminated;PodVanished;PreventDestroy
type FailureReason string

// Reasons of failures that are more specific than the class.
const (
	// FailureBackendInCode: the code has a backend of its own. The Ready condition of the Stack has the same
	// reason.
	FailureBackendInCode FailureReason = ReasonBackendInCode
	// FailureDiskFull: a file of the runner could not be written, because the pod's disk has no space left.
	FailureDiskFull FailureReason = "DiskFull"
	// FailureFilesNotDelivered: a downloaded module reads a file of the repository that the pod does not have.
	FailureFilesNotDelivered FailureReason = "FilesNotDelivered"
	// FailureImagePullFailed: the node could not pull the image of the engine. Where another Run built that
	// image, Cairn builds it again.
	FailureImagePullFailed FailureReason = "ImagePullFailed"
	// FailureInterrupted: the runner received a signal to stop, and the cause is not known yet.
	FailureInterrupted FailureReason = "Interrupted"
	// FailurePlanMismatch: the JSON of the plan, which users read and policies evaluate, does not describe the plan
	// file. Code in the pod, such as a hook, changed one of them.
	FailurePlanMismatch FailureReason = "PlanMismatch"
	// FailurePodTerminated: the runner received a signal to stop, because its pod had to end. The message has the
	// cause.
	FailurePodTerminated FailureReason = "PodTerminated"
	// FailurePodVanished: the pod was gone before anything reported that its containers had ended, so a runner
	// may still be at work. Cairn waits two minutes before anything follows an apply.
	FailurePodVanished FailureReason = "PodVanished"
	// FailurePreventDestroy: the plan destroys a resource with prevent_destroy in its lifecycle.
	FailurePreventDestroy FailureReason = "PreventDestroy"
)

// PolicyRequireApproval is the action of a policy finding that requires an approval of the plan.
const PolicyRequireApproval = "RequireApproval"

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

// failureReasons describes the classes and reasons of this file that have no constant of a reason.
var failureReasons = []Reason{
	{Name: string(FailureTransient), In: InRun | InFailure, Severity: SeverityError},
	{Name: string(FailureConfigurationError), In: InRun | InFailure, Severity: SeverityError},
	{Name: string(FailurePolicyDenied), In: InRun | InFailure, Severity: SeverityError},
	{Name: string(FailurePodLost), In: InRun | InFailure, Severity: SeverityError},
	{Name: string(FailureDiskFull), In: InFailure, Severity: SeverityError},
	{Name: string(FailureFilesNotDelivered), In: InFailure, Severity: SeverityError},
	{Name: string(FailureImagePullFailed), In: InFailure, Severity: SeverityError},
	{Name: string(FailureInterrupted), In: InFailure, Severity: SeverityError},
	{Name: string(FailurePlanMismatch), In: InFailure, Severity: SeverityError},
	{Name: string(FailurePodTerminated), In: InFailure, Severity: SeverityError},
	{Name: string(FailurePodVanished), In: InFailure, Severity: SeverityError},
	{Name: string(FailurePreventDestroy), In: InFailure, Severity: SeverityError},
}
