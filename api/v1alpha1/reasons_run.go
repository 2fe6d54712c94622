package v1alpha1

// Reasons of the Succeeded condition of a Run in progress. The Ready condition of the Stack has the same reason
// while the Run waits. The reason of a Run that does not wait is its phase.
const (
	// ReasonPending: no operator has seen the Run yet. Where it stays, check that the operator is running.
	ReasonPending = "Pending"
	// ReasonQueued: the Run waits for an earlier Run or for a concurrency limit. No action is needed.
	ReasonQueued = "Queued"
	// ReasonBuilding: the image of the Run is being built.
	ReasonBuilding = "Building"
	// ReasonAwaitingApproval: the plan has changes and waits for an approval: `cairn approve`, or `cairn
	// reject`.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonCanceling: the Run was canceled, and finishes the operations that it started.
	ReasonCanceling = "Canceling"
	// ReasonInputsNotFound: an object that the pod reads does not exist. Create it, or correct the Stack.
	ReasonInputsNotFound = "InputsNotFound"
	// ReasonNodeUnreachable: the node of the pod does not respond, so Cairn does not know whether the pod still
	// runs. Recover the node, or delete it if it is lost.
	ReasonNodeUnreachable = "NodeUnreachable"
	// ReasonTimeoutExceeded: an attempt did not end at its timeout, and its pod is deleted. The Run continues
	// when the pod is gone.
	ReasonTimeoutExceeded = "TimeoutExceeded"
	// ReasonPodPending: the pod did not start yet. The message has the reason from Kubernetes.
	ReasonPodPending = "PodPending"
	// ReasonPodTerminating: the pod is terminating, and saves its state first. No action is needed.
	ReasonPodTerminating = "PodTerminating"
	// ReasonPodCreateFailed: the API server rejects the pod, for a quota or an admission policy for example.
	// Correct what the message names; Cairn retries.
	ReasonPodCreateFailed = "PodCreateFailed"
	// ReasonRetrying: an attempt failed, and the next one is scheduled. `cairn retry` starts it now.
	ReasonRetrying = "Retrying"
	// ReasonSuspended: spec.suspend of the Stack is true. `cairn resume` continues.
	ReasonSuspended = "Suspended"
	// ReasonWindowClosed: spec.windows of the Stack do not allow the operation now. The Run continues when a window
	// opens.
	ReasonWindowClosed = "WindowClosed"
	// ReasonAwaitingRequirements: the Run would apply a pull request before its merge, and that lacks what
	// spec.pullRequests.requirements of its Repository requires, or Cairn cannot read whether it does. The message has
	// who can act.
	ReasonAwaitingRequirements = "AwaitingRequirements"
	// ReasonWindowInvalid: spec.windows of the Stack cannot be read. Correct them.
	ReasonWindowInvalid = "WindowInvalid"
)

// Reasons of the Succeeded condition of a Run that is finished. The reason of a failed Run is the class of its failure.
const (
	// ReasonApplied: the plan was applied. Also of a Ready Stack.
	ReasonApplied = "Applied"
	// ReasonDestroyed: everything was destroyed. Also of a Stack, where a user asked for that; `cairn apply`
	// creates it again.
	ReasonDestroyed = "Destroyed"
	// ReasonNoChanges: the plan has no changes.
	ReasonNoChanges = "NoChanges"
	// ReasonPlanned: the plan has changes, and the Run only plans.
	ReasonPlanned = "Planned"
	// ReasonShellEnded: the shell was closed.
	ReasonShellEnded = "ShellEnded"
	// ReasonCanceled: a user canceled the Run.
	ReasonCanceled = "Canceled"
	// ReasonRejected: a user rejected the plan.
	ReasonRejected = "Rejected"
	// ReasonSuperseded: the inputs of the Run are outdated. A newer Run replaces it.
	ReasonSuperseded = "Superseded"
)

// runReasons describes the reasons of this file, and the phases of a Run in progress that are reasons too.
var runReasons = []Reason{
	{Name: ReasonPending, In: InRun},
	{Name: ReasonQueued, In: InRun, WaitsFor: WaitsForQueue},
	{Name: ReasonBuilding, In: InRun},
	{Name: ReasonAwaitingApproval, In: InStack | InRun, WaitsFor: WaitsForApproval},
	{Name: ReasonCanceling, In: InStack | InRun, WaitsFor: WaitsForEngine, Next: []string{
		"cairn logs -f {run} follows it",
	}},
	{Name: ReasonInputsNotFound, In: InStack | InRun, Severity: SeverityError, WaitsFor: WaitsForInputs},
	{Name: ReasonNodeUnreachable, In: InStack | InRun, Severity: SeverityError, WaitsFor: WaitsForPod, Next: []string{
		"kubectl describe pod {pod}",
	}},
	{Name: ReasonTimeoutExceeded, In: InStack | InRun, Severity: SeverityError, WaitsFor: WaitsForPod, Next: []string{
		"kubectl describe pod {pod}",
	}},
	{Name: ReasonPodPending, In: InStack | InRun, Severity: SeverityWarning, WaitsFor: WaitsForPod, Next: []string{
		"kubectl describe pod {pod}",
	}},
	{Name: ReasonPodTerminating, In: InStack | InRun, Severity: SeverityWarning, WaitsFor: WaitsForPod, Next: []string{
		"kubectl describe pod {pod}",
	}},
	{Name: ReasonPodCreateFailed, In: InStack | InRun, Severity: SeverityError, WaitsFor: WaitsForPod},
	{Name: ReasonRetrying, In: InStack | InRun, Severity: SeverityWarning, WaitsFor: WaitsForRetry, Next: []string{
		"cairn logs {run} shows why",
		"cairn retry {stack} retries immediately",
	}},
	{Name: ReasonSuspended, In: InStack | InRun | InNotification, WaitsFor: WaitsForResume,
		Next: []string{"cairn resume {stack}"}},
	{Name: ReasonWindowClosed, In: InStack | InRun, WaitsFor: WaitsForWindow},
	{Name: ReasonAwaitingRequirements, In: InStack | InRun, WaitsFor: WaitsForRequirements},
	{Name: ReasonWindowInvalid, In: InStack | InRun, Severity: SeverityError, WaitsFor: WaitsForWindow},
	{Name: ReasonApplied, In: InStack | InRun | InPullRequest},
	{Name: ReasonDestroyed, In: InStack | InRun, Next: []string{
		"cairn apply {stack} creates its resources again",
		"kubectl delete stack {stack} deletes the Stack",
	}},
	{Name: ReasonNoChanges, In: InRun},
	{Name: ReasonPlanned, In: InRun},
	{Name: ReasonShellEnded, In: InRun},
	{Name: ReasonCanceled, In: InRun | InFailure},
	{Name: ReasonRejected, In: InRun},
	{Name: ReasonSuperseded, In: InRun},
	{Name: string(PhasePlanning), In: InRun},
	{Name: string(PhaseApplying), In: InRun | InPullRequest},
	{Name: string(PhaseShell), In: InRun},
}
