package stack

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// longestMessage is how long the message of a condition may be.
const longestMessage = 32 << 10

// status is the Stack's status after a decision.
func status(w World, d Decision) v1alpha1.StackStatus {
	s := *w.Stack.Status.DeepCopy()
	s.ObservedGeneration = w.Stack.Generation
	if w.active() == nil { // its end is told once
		s.Resources = resources(w)
	}
	if w.Problem == nil && w.Digest != "" {
		if s.InputsDigest != w.Digest || !isLater(w.Revision, s.Revision) {
			s.Revision = w.Revision
		}
		s.InputsDigest = w.Digest
	}
	if _, waits := asked(w); !waits || !isHalfTaken(w) { // a Run that was named and not made is not given up while who asked for it waits
		s.CurrentRun = ""
	}
	if last := w.last(); last != nil {
		if runinfo.Number(last.Name) > runinfo.Number(s.LastRun) {
			s.LastRun = last.Name
		}
		if !last.Status.Phase.Finished() {
			s.CurrentRun = last.Name
		}
	}
	s.Image, s.AppliedImage = builtImage(w), appliedImage(w)
	s.AppliedInputsDigest, s.Outputs, s.Drift = appliedInputs(w), outputs(w), driftStatus(w)
	if d.Start != nil {
		s.CurrentRun, s.LastRun = d.Name, d.Name
		s.ReservedRun = &v1alpha1.ReservedRun{Name: s.CurrentRun, Operation: d.Start.Operation, Cause: d.Start.Cause.Type, StateVersion: d.StateVersion}
		s.PlannedState = plannedState(w, d)
	}
	s.Units = w.units()
	s.DriftChecks = driftChecks(w, d)
	s.LastHandledRequest, s.DestroyedByRun = lastHandledRequest(w, d), destroyedBy(w)
	s.History = history(w)
	if c := driftCondition(w, s.Drift); c != nil {
		apimeta.SetStatusCondition(&s.Conditions, *c)
	} else {
		apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionDrifted)
	}
	if c := untrackedCondition(w); c != nil {
		apimeta.SetStatusCondition(&s.Conditions, *c)
	} else {
		apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionUntrackedResources)
	}
	if w.CodeRead { // otherwise what is known stays
		s.Engine = w.Engine
	}
	if c := wholeRepositoryCondition(w); c != nil {
		apimeta.SetStatusCondition(&s.Conditions, *c)
	} else if w.CodeRead { // otherwise what is known stays
		apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionWholeRepository)
	}
	set := func(kind string, value metav1.ConditionStatus) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: d.Reason, Message: runinfo.Clip(d.Message, longestMessage),
			ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
		})
	}
	if d.Reason != "" {
		set(v1alpha1.ConditionReady, d.Ready)
		if d.Stalled {
			set(v1alpha1.ConditionStalled, metav1.ConditionTrue)
		} else {
			apimeta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
		}
	}
	return s
}

// appliedInputs are the inputs that what is there was made from; none when an apply of others began and did not succeed, or was deleted
// before its end was known. The status has all
// that came of Runs whose end it tells, and perhaps of newer ones that are gone.
func appliedInputs(w World) string {
	last := w.last()
	switch {
	case w.applyVanished():
		return ""
	case last == nil || w.active() != nil || w.forgotten() || w.looks(last) || w.told(last):
		return w.Stack.Status.AppliedInputsDigest
	case last.Status.Phase != v1alpha1.PhaseSucceeded:
		if begun(last) {
			return ""
		}
		return w.Stack.Status.AppliedInputsDigest
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return ""
	case last.Spec.Operation == v1alpha1.OperationPlan && last.Status.Plan.Changes:
		return w.Stack.Status.AppliedInputsDigest
	}
	return last.Spec.InputsDigest
}

// outputs are those of the last apply.
func outputs(w World) map[string]apiextensionsv1.JSON {
	last := w.last()
	switch {
	case last == nil || w.forgotten() || last.Status.Phase != v1alpha1.PhaseSucceeded || last.Spec.Operation == v1alpha1.OperationPlan, isShell(last), w.told(last):
		return w.Stack.Status.Outputs
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return nil
	}
	return last.Status.Outputs
}
