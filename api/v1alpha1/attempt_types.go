package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AttemptPhase is the phase of a Run that an attempt executes.
//
// +kubebuilder:validation:Enum=Build;Plan;Apply;Shell
type AttemptPhase string

// Phases of an attempt.
const (
	// AttemptBuild builds the image in which later attempts run.
	AttemptBuild AttemptPhase = "Build"
	// AttemptPlan plans.
	AttemptPlan AttemptPhase = "Plan"
	// AttemptApply applies the plan.
	AttemptApply AttemptPhase = "Apply"
	// AttemptShell runs a shell for a user.
	AttemptShell AttemptPhase = "Shell"
)

// Attempt is one execution of a phase of a Run in one pod. A retry is a new attempt. A plan and an apply in the
// same pod are two attempts.
type Attempt struct {
	// Number is the number of the attempt within the Run. The first attempt has number 1.
	Number int32 `json:"number"`
	// Phase is the phase that the attempt executes: Build, Plan, Apply or Shell.
	Phase AttemptPhase `json:"phase"`
	// Pod is the name of the pod in which the attempt runs. Example: net-7-plan-1.
	Pod string `json:"pod"`
	// PodUID is the UID of the pod. Cairn accepts reports and state writes of the attempt only from this pod.
	PodUID types.UID `json:"podUID"`
	// StartedAt is the time when Cairn created the pod or, if the pod already ran, assigned the attempt to it.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// FinishedAt is the time when the attempt ended. Unset while the attempt is in progress.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
	// Steps are the steps of the attempt, in the order in which they run.
	// +listType=atomic
	// +optional
	Steps []Step `json:"steps,omitempty"`
	// Changed is the number of resources that a failed apply changed before it failed. The counts in
	// status.plan are the totals. Unset if the number is unknown or the apply succeeded.
	// +optional
	Changed *int32 `json:"changed,omitempty"`
	// Failure describes why the attempt failed. Unset unless the attempt failed.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
}

// StepState is the progress of a step.
//
// +kubebuilder:validation:Enum=Waiting;Running;Succeeded;Failed;Skipped
type StepState string

// States of a step.
const (
	// StepWaiting: an earlier step has not finished.
	StepWaiting StepState = "Waiting"
	// StepRunning: the step is in progress.
	StepRunning StepState = "Running"
	// StepSucceeded: the step finished without an error.
	StepSucceeded StepState = "Succeeded"
	// StepFailed: the step finished with an error. The attempt continues only after a hook with onFailure:
	// Continue.
	StepFailed StepState = "Failed"
	// StepSkipped: the step did not run, because an earlier step failed or because it was not needed.
	StepSkipped StepState = "Skipped"
)

// Step is one part of an attempt: fetch, state, build, engine, init, plan, policy, apply, outputs, or a hook
// before or after one of them.
type Step struct {
	// Name is the name of the step. A hook is named after its time and step, with a number from the second one
	// on. Examples: plan, before-init, after-plan-2.
	Name string `json:"name"`
	// State is the progress of the step: Waiting, Running, Succeeded, Failed or Skipped.
	State StepState `json:"state"`
	// StartedAt is the time when the step started. Unset if it did not start.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// FinishedAt is the time when the step ended. Unset if it did not end.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
	// ExitCode is the exit code of the program that the step ran. Unset if the step ran no program or the
	// program did not exit.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Message describes the result of the step in one line.
	// +optional
	Message string `json:"message,omitempty"`
}

// Failure describes why an attempt failed.
type Failure struct {
	// Class decides whether Cairn retries: Transient, ConfigurationError, PolicyDenied, PodLost, Canceled or
	// StateNotSaved.
	Class FailureClass `json:"class"`
	// Reason is a more specific reason than the class, in CamelCase. The Ready condition of the Stack has the
	// same reason. Example: BackendInCode.
	// +optional
	Reason FailureReason `json:"reason,omitempty"`
	// Message is the first error of the engine, or the reason why the pod ended.
	Message string `json:"message"`
}
