package v1alpha1

import "slices"

// Reason describes a reason of a condition or an event, or a class of failures. What shows or counts reasons reads
// these values: metrics, events, lists, commands that the CLI suggests, the web UI, the index of the documentation.
// The section "### Name" of docs/troubleshooting explains the reason.
//
// +kubebuilder:object:generate=false
type Reason struct {
	Name string
	// In is where the reason appears.
	In ReasonUse
	// Severity is the severity for the user who owns the object.
	Severity Severity
	// WaitsFor is what the object waits for; empty if it does not wait.
	WaitsFor WaitsFor
	// Next are the commands that a user can run now, each with its purpose. {stack}, {run}, {pod}, {driftRun} and
	// {dependencies} stand for names of the object; a command for whose name there is no value does not apply.
	Next []string
}

// ReasonUse is a set of places where a reason appears.
type ReasonUse uint16

// Places of reasons.
const (
	// InStack: the condition Ready of a Stack.
	InStack ReasonUse = 1 << iota
	// InRepository: the condition Ready of a Repository.
	InRepository
	// InPullRequest: the condition Ready of a PullRequest.
	InPullRequest
	// InStackSet: the condition Ready of a StackSet.
	InStackSet
	// InNotification: the condition Ready of a Notification.
	InNotification
	// InDriftPause: the condition Ready of a DriftPause.
	InDriftPause
	// InPipeline: the condition Ready of a Pipeline.
	InPipeline
	// InRun: the condition Succeeded of a Run.
	InRun
	// InOther: another condition.
	InOther
	// InFailure: the class or the reason of the failure of an attempt.
	InFailure
	// InEvent: an event that is not about a condition.
	InEvent
)

// Severity is the severity of a reason.
type Severity string

// Severities of reasons.
const (
	// SeverityNormal: the object is as declared, progresses, or waits as its users decided.
	SeverityNormal Severity = ""
	// SeverityWarning: the object waits for something that may not happen, or for a decision that users do not expect.
	SeverityWarning Severity = "Warning"
	// SeverityError: the object stays as it is until the error is corrected, or Cairn retries it with success.
	SeverityError Severity = "Error"
)

// WaitsFor is what an object waits for.
type WaitsFor string

// What objects wait for.
const (
	// WaitsForApproval: a user who approves or rejects the plan.
	WaitsForApproval WaitsFor = "Approval"
	// WaitsForDecision: a user who decides about the Stack.
	WaitsForDecision WaitsFor = "Decision"
	// WaitsForRequest: a user who requests what another user stopped.
	WaitsForRequest WaitsFor = "Request"
	// WaitsForResume: a user who resumes the Stack, or corrections of drift.
	WaitsForResume WaitsFor = "Resume"
	// WaitsForQueue: an earlier Run or a concurrency limit.
	WaitsForQueue WaitsFor = "Queue"
	// WaitsForWindow: a window of spec.windows.
	WaitsForWindow WaitsFor = "Window"
	// WaitsForRequirements: a review or another requirement of the pull request that the Run applies.
	WaitsForRequirements WaitsFor = "Requirements"
	// WaitsForPod: the start or the end of the pod.
	WaitsForPod WaitsFor = "Pod"
	// WaitsForEngine: the end of an engine that was interrupted.
	WaitsForEngine WaitsFor = "Engine"
	// WaitsForInputs: an object that the pod reads.
	WaitsForInputs WaitsFor = "Inputs"
	// WaitsForRetry: the time of the next attempt.
	WaitsForRetry WaitsFor = "Retry"
)

// Text returns what the object waits for as the end of the sentence "waits for ...".
func (w WaitsFor) Text() string {
	switch w {
	case WaitsForApproval:
		return "a user who approves the plan"
	case WaitsForDecision, WaitsForRequest:
		return "a decision of a user"
	case WaitsForResume:
		return "a user who resumes the Stack"
	case WaitsForQueue:
		return "the queue"
	case WaitsForWindow:
		return "a window"
	case WaitsForRequirements:
		return "what the pull request lacks"
	case WaitsForPod:
		return "its pod"
	case WaitsForEngine:
		return "the engine to stop"
	case WaitsForInputs:
		return "its inputs"
	case WaitsForRetry:
		return "the next attempt"
	}
	return ""
}

var (
	allReasons = slices.Concat(stackReasons, runReasons, repositoryReasons, pullRequestReasons, stackSetReasons,
		notificationReasons, driftPauseReasons, pipelineReasons,
		otherReasons, failureReasons, eventReasons)
	reasonsByName = func() map[string]Reason {
		byName := make(map[string]Reason, len(allReasons))
		for _, r := range allReasons {
			byName[r.Name] = r
		}
		return byName
	}()
)

// Reasons returns all reasons of the API, each once.
func Reasons() []Reason { return slices.Clone(allReasons) }

// ReasonNamed returns the reason with that name, and whether this version has one.
func ReasonNamed(name string) (Reason, bool) {
	r, ok := reasonsByName[name]
	return r, ok
}
