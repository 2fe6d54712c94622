package runinfo

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// IsDriftCheck reports whether a Run only checks for drift.
func IsDriftCheck(run *v1alpha1.Run) bool {
	return run.Spec.Cause.Type == v1alpha1.CauseDrift && run.Spec.Operation == v1alpha1.OperationPlan
}

// PlansDestroy reports whether the plan of a Run is of a destroy.
func PlansDestroy(run *v1alpha1.Run) bool {
	pull := run.Spec.PullRequest
	return run.Spec.Operation == v1alpha1.OperationDestroy || (pull != nil && pull.DestroyInputsDigest != "")
}

// IsApply reports whether an attempt applies a plan.
func IsApply(a v1alpha1.Attempt) bool { return a.Phase == v1alpha1.AttemptApply }

// Began reports whether an apply began, so that resources may have been changed.
func Began(r *v1alpha1.Run) bool { return slices.ContainsFunc(r.Status.Attempts, Changes) }

// Changes reports whether an attempt may have changed resources: it is an apply, and did not report that it ended
// before the engine started. What a lost pod did after its last report is not known.
func Changes(a v1alpha1.Attempt) bool {
	if !IsApply(a) || a.Changed != nil || a.FinishedAt == nil || a.Failure == nil ||
		a.Failure.Class == v1alpha1.FailurePodLost {
		return IsApply(a)
	}
	return !slices.ContainsFunc(a.Steps, func(s v1alpha1.Step) bool {
		return s.Name == "apply" && s.State == v1alpha1.StepSkipped
	})
}

// FinalSteps are the steps of a finished Run's last attempt that later decisions depend on.
func FinalSteps(run *v1alpha1.Run) []v1alpha1.Step {
	n := len(run.Status.Attempts)
	if n == 0 {
		return nil
	}
	return RetainedSteps(run.Status.Attempts[n-1].Steps)
}

// RetainedSteps are the steps of an attempt that decisions use after the Run has finished.
func RetainedSteps(all []v1alpha1.Step) []v1alpha1.Step {
	var steps []v1alpha1.Step
	for _, s := range all {
		if isRetained(s) {
			steps = append(steps, v1alpha1.Step{Name: s.Name, State: s.State, Message: s.Message})
		}
	}
	return steps
}

// isRetained reports whether a step is used after the Run: an apply that was skipped has changed nothing, and outputs
// that could not be written are reported by the Stack.
func isRetained(s v1alpha1.Step) bool {
	return s.Name == "outputs" || (s.Name == "apply" && s.State == v1alpha1.StepSkipped)
}
