package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AttemptPhase is what an attempt is at.
//
// +kubebuilder:validation:Enum=Build;Plan;Apply;Shell
type AttemptPhase string

// What an attempt is at.
const (
	// AttemptBuild builds the image that the others run in.
	AttemptBuild AttemptPhase = "Build"
	AttemptPlan  AttemptPhase = "Plan"
	AttemptApply AttemptPhase = "Apply"
	AttemptShell AttemptPhase = "Shell"
)

// Attempt is one try at a phase of a Run, in one pod. A plan and the apply that follows it in the same pod are two
// attempts.
type Attempt struct {
	// Number counts from 1.
	Number int32 `json:"number"`
	// Phase it tries.
	Phase AttemptPhase `json:"phase"`
	// Pod it runs in.
	Pod string `json:"pod"`
	// PodUID is the one pod whose reports and state writes are accepted for this attempt.
	PodUID types.UID `json:"podUID"`
	// StartedAt is when the pod was made or, for a pod that lives already, when it was given the work.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
	// Steps, in order.
	// +listType=atomic
	// +optional
	Steps []Step `json:"steps,omitempty"`
	// Changed is how many resources an apply that did not succeed has changed; the plan's counts say of how many.
	// +optional
	Changed *int32 `json:"changed,omitempty"`
	// Failure says why it did not succeed.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// StepState is how a step stands.
//
// +kubebuilder:validation:Enum=Waiting;Running;Succeeded;Failed;Skipped
type StepState string

// How a step stands.
const (
	// StepWaiting: what goes before it is not done yet.
	StepWaiting StepState = "Waiting"
	// StepRunning: it is at work.
	StepRunning StepState = "Running"
	// StepSucceeded: it is done.
	StepSucceeded StepState = "Succeeded"
	// StepFailed: it could not be done. The attempt goes on after it only where a hook says onFailure: Continue.
	StepFailed StepState = "Failed"
	// StepSkipped: it was not done, because of what happened before it, or because there was no need.
	StepSkipped StepState = "Skipped"
)

// Step is a thing an attempt does: fetch, build, engine, init, plan, policy, apply, outputs, and hooks before and after them.
type Step struct {
	// Name of the step. A hook is named for when it runs: before-init, after-plan, and after-plan-2 for the second one.
	Name string `json:"name"`
	// State of the step.
	State StepState `json:"state"`
	// StartedAt is when it began.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
	// ExitCode of the program it ran, if it ran one.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Message is one line on what happened.
	// +optional
	Message string `json:"message,omitempty"`
}

// Failure says why an attempt did not succeed.
type Failure struct {
	// Class says what to do about it.
	Class FailureClass `json:"class"`
	// Reason is set where the class does not say enough: BackendInCode. The Stack's Ready condition then has the same reason.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the engine's first error, or what became of the pod.
	Message string `json:"message"`
}
