package decision

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func outputsAreForeign(w Snapshot) (Decision, bool) {
	if w.Outputs.Foreign == "" {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonOutputsConflict, "%s exists and Cairn did not create it for this Stack, so it is "+
		"left alone: delete it, or name another one in spec.outputs", w.Outputs.Foreign)
}

// outputsAreMissing writes outputs again that a user deleted, or that an object of the same name prevented until now.
func outputsAreMissing(w Snapshot) (Decision, bool) {
	step := outputsStep(w.LastMutatingRun())
	if w.Outputs.Missing == "" || step == nil || w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		return Decision{}, false
	}
	c := v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: w.Outputs.Missing + " is missing"}
	if step.State == v1alpha1.StepFailed && w.LastMutatingRun().Spec.Cause == c { // it was tried, to no avail
		return Decision{}, false
	}
	return startDeploy(w, v1alpha1.OperationApply, c)
}

// outputsCannotBeWritten reports outputs that a user deleted while nothing is applied, which writes them.
func outputsCannotBeWritten(w Snapshot) (Decision, bool) {
	written := outputsStep(w.lastApply()) != nil || len(w.Stack.Status.Outputs) > 0
	if w.Outputs.Missing == "" || w.Stack.Spec.Apply != v1alpha1.ApplyNever || !written {
		return Decision{}, false
	}
	d, ok := stalled(v1alpha1.ReasonOutputsFailed, "%s is missing, and an apply writes it, which spec.apply Never "+
		"prevents: set spec.apply to Manual or Automatic, or remove it from spec.outputs", w.Outputs.Missing)
	d.NextDriftCheck = nextDriftCheck(w)
	d.RequeueAfter = until(w, d.NextDriftCheck)
	return d, ok
}

// lastApply is the newest apply that succeeded; nil when there is none.
func (w Snapshot) lastApply() *v1alpha1.Run {
	return w.newestRun(func(r *v1alpha1.Run) bool {
		return r.Spec.Operation == v1alpha1.OperationApply && r.Status.Phase == v1alpha1.PhaseSucceeded
	})
}

func outputsFailed(w Snapshot) (Decision, bool) {
	step := outputsStep(w.LastMutatingRun())
	if step == nil || step.State != v1alpha1.StepFailed {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonOutputsFailed, "Run %s: %s", w.LastMutatingRun().Name, step.Message)
}

// outputsStep is how a Run that succeeded wrote its outputs; nil when it had none to write.
func outputsStep(r *v1alpha1.Run) *v1alpha1.Step {
	if r == nil || r.Status.Phase != v1alpha1.PhaseSucceeded || len(r.Status.Attempts) == 0 {
		return nil
	}
	steps := r.Status.Attempts[len(r.Status.Attempts)-1].Steps
	if i := slices.IndexFunc(steps, func(s v1alpha1.Step) bool { return s.Name == "outputs" }); i >= 0 {
		return &steps[i]
	}
	return nil
}

// outputs are those of the last apply.
func outputs(w Snapshot) map[string]apiextensionsv1.JSON {
	last := w.LatestRun()
	switch {
	case last == nil || w.latestRunMissing() || last.Status.Phase != v1alpha1.PhaseSucceeded ||
		last.Spec.Operation == v1alpha1.OperationPlan, isShell(last), w.isRecorded(last):
		return w.Stack.Status.Outputs
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return nil
	}
	return last.Status.Outputs
}
