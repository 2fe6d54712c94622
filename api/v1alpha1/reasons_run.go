package v1alpha1

// Reasons of the Succeeded condition of a Run that is not finished. Ready of its Stack has those that name
// something to wait for. A Run at work has its phase as the reason.
const (
	// ReasonPending: no operator has seen the Run yet. Where it stays, check that the operator is running.
	ReasonPending = "Pending"
	// ReasonQueued: an earlier Run, or a concurrency limit, comes first. Nothing to do.
	ReasonQueued = "Queued"
	// ReasonBuilding: the image is built that the Run will run in.
	ReasonBuilding = "Building"
	// ReasonAwaitingApproval: the plan has changes and waits for an approval: `cairn approve`, or `cairn
	// reject`.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonCanceling: the Run was canceled, and what it has in flight ends first.
	ReasonCanceling = "Canceling"
	// ReasonInputsNotFound: an object that the pod reads does not exist. Create it, or correct the Stack.
	ReasonInputsNotFound = "InputsNotFound"
	// ReasonNodeUnreachable: the node of the pod does not answer, so that it is not known what the pod does.
	// Recover the node, or delete it when it is gone for good.
	ReasonNodeUnreachable = "NodeUnreachable"
	// ReasonTimeoutExceeded: an attempt did not end at its timeout, and its pod is deleted. The Run continues
	// when the pod is gone.
	ReasonTimeoutExceeded = "TimeoutExceeded"
	// ReasonPodPending: the pod did not start yet. The message has the reason that Kubernetes gives.
	ReasonPodPending = "PodPending"
	// ReasonPodTerminating: the pod has to end, and saves its state first. Nothing to do.
	ReasonPodTerminating = "PodTerminating"
	// ReasonPodCreateFailed: the API server rejects the pod, for a quota or an admission policy for example.
	// Correct what the message names; Cairn tries again.
	ReasonPodCreateFailed = "PodCreateFailed"
	// ReasonRetrying: an attempt failed, and the next one is scheduled. `cairn retry` does not wait.
	ReasonRetrying = "Retrying"
	// ReasonSuspended: spec.suspend of the Stack is true. `cairn resume` continues.
	ReasonSuspended = "Suspended"
	// ReasonWindowClosed: spec.windows of the Stack do not allow it now. It continues when a window opens.
	ReasonWindowClosed = "WindowClosed"
	// ReasonWindowInvalid: spec.windows of the Stack cannot be read. Correct them.
	ReasonWindowInvalid = "WindowInvalid"
)

// Reasons of the Succeeded condition of a Run that is finished. One that failed has the class of its failure.
const (
	// ReasonApplied: the plan was applied. Also of a Ready Stack.
	ReasonApplied = "Applied"
	// ReasonDestroyed: everything was destroyed. Also of a Stack, where a user asked for that; `cairn apply`
	// creates it again.
	ReasonDestroyed = "Destroyed"
	// ReasonNoChanges: the plan has no changes.
	ReasonNoChanges = "NoChanges"
	// ReasonPlanned: there is a plan with changes, and the Run was only to plan.
	ReasonPlanned = "Planned"
	// ReasonShellEnded: the shell was closed.
	ReasonShellEnded = "ShellEnded"
	// ReasonCanceled: a user canceled the Run.
	ReasonCanceled = "Canceled"
	// ReasonRejected: a user rejected the plan.
	ReasonRejected = "Rejected"
	// ReasonSuperseded: what the Run would do is not wanted any more. A newer Run does what is.
	ReasonSuperseded = "Superseded"
)
