package decision

import (
	"cmp"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rule for a State whose current version a user wrote: by push, rollback, restore or recover, or with an engine
// of the user's own. What is declared did not change, so nothing else is due; but what the state knows may not be
// what there is any more.
//	written by a user ──► planned: recorded in the write that names the Run ──► approved, rejected, applied, or drift

// userVersion is the current version of the State if a user wrote it, and who did, where that is known; 0 if a Run
// wrote it.
func userVersion(w Snapshot) (version int64, by string) {
	if w.State == nil || w.State.Status.UpdatedBy != "" {
		return 0, ""
	}
	version = w.State.Status.Version
	for _, v := range w.State.Status.Versions {
		if v.Version == version {
			by = v.By
		}
	}
	return version, by
}

// plannedVersion is the version of a user that a Run was created to plan; 0 when there is none, or when that Run
// was never created.
func plannedVersion(w Snapshot) int64 {
	p := w.Stack.Status.PlannedState
	if p == nil || runinfo.Number(p.Run) > highestCreatedNumber(w) {
		return 0
	}
	return p.Version
}

// userStateIsDue plans a version of the State that a user wrote since the inputs were applied, or since no plan of them
// succeeded: the state may have been the cause, as where a user restored it. Under a lock the
// user may still be at work: its end is an event. The changes of the plan were never declared, so the rule for
// drift decides what follows where plans are applied without an approval.
func userStateIsDue(w Snapshot) (Decision, bool) {
	version, by := userVersion(w)
	notPlanned := couldNotPlan(w)
	if version == plannedVersion(w) || version == 0 || w.State.Status.Lock != nil || !notPlanned && !isAsDeclared(w) {
		return Decision{}, false
	}
	c := v1alpha1.Cause{
		Type: v1alpha1.CauseManual, By: runinfo.Clip(by, 253),
		Message: writtenBy(version, by),
	}
	operation := operation(w)
	if w.Stack.Spec.Apply == v1alpha1.ApplyAutomatic && !notPlanned && !preventsSelfApproval(w) && !appliesAllDrift(w) {
		operation = v1alpha1.OperationPlan
	}
	d, _ := startDeploy(w, operation, c)
	d.StateVersion = version
	return d, true
}

func writtenBy(version int64, by string) string {
	return fmt.Sprintf("version %d of the state was written by %s", version, cmp.Or(by, "a user"))
}

// couldNotPlan reports that the last Run of the inputs failed before it had a plan.
func couldNotPlan(w Snapshot) bool {
	last := w.LastMutatingRun()
	return last != nil && w.isDeploy(last) && last.Spec.InputsDigest == w.Digest && appliedInputs(w) != w.Digest &&
		last.Status.Phase == v1alpha1.PhaseFailed && last.Status.Plan == nil
}

// isAsDeclared reports that the inputs are applied or, where nothing is ever applied, planned.
func isAsDeclared(w Snapshot) bool {
	last := w.lastDeployRun()
	planned := w.Stack.Spec.Apply == v1alpha1.ApplyNever && last != nil &&
		last.Status.Phase == v1alpha1.PhaseSucceeded && last.Spec.InputsDigest == w.Digest
	return planned || appliedInputs(w) == w.Digest
}

// plannedState is what the status records of the State when a Run starts: every Run but a destroy and a shell
// plans what is current.
func plannedState(w Snapshot, d Decision) *v1alpha1.PlannedState {
	if o := d.Start.Operation; o == v1alpha1.OperationDestroy || o == v1alpha1.OperationShell {
		return w.Stack.Status.PlannedState
	}
	version, _ := userVersion(w)
	if version == 0 {
		return nil
	}
	return &v1alpha1.PlannedState{Version: version, Run: d.Name}
}

// plansUserState reports that a Run was the first to plan a version of the State that a user wrote.
func plansUserState(w Snapshot, r *v1alpha1.Run) bool {
	p := w.Stack.Status.PlannedState
	return p != nil && p.Run == r.Name
}
