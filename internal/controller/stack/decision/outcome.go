package decision

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for Runs that did not end as intended, and for Stacks that were destroyed on request. After them nothing
// starts by itself.

// destroyedBy is the Run that destroyed everything on request; empty when the resources, if there are any, are to stay.
// A destroy of a deletion does not count: the Stack is deleted with it.
func destroyedBy(w Snapshot) string {
	last := w.LatestRun()
	name := w.Stack.Status.DestroyedByRun
	if destroyedAll(last) && !w.latestRunMissing() && w.Stack.DeletionTimestamp == nil {
		return last.Name
	}
	if name != "" && slices.ContainsFunc(w.Runs, func(r v1alpha1.Run) bool {
		return w.recreates(&r) && runinfo.Number(r.Name) > runinfo.Number(name)
	}) {
		return ""
	}
	return name
}

// recreates reports that a Run has begun to create again what was destroyed, or found it. A Run without an effect,
// for example a rejected one, does not count.
func (w Snapshot) recreates(r *v1alpha1.Run) bool {
	return r.Spec.Operation != v1alpha1.OperationDestroy && !w.isReadOnly(r) &&
		(begun(r) || r.Status.Phase == v1alpha1.PhaseSucceeded)
}

// staysDestroyed creates nothing again before a user asks for it.
func staysDestroyed(w Snapshot) (Decision, bool) {
	name := destroyedBy(w)
	if name == "" || w.changeUnderWay() != nil {
		return Decision{}, false
	}
	after := w.LastMutatingRun()
	if after != nil && runinfo.Number(after.Name) <= runinfo.Number(name) {
		after = nil
	}
	if after != nil && after.Status.Phase == v1alpha1.PhaseSuperseded { // what was asked for is what is declared since
		return Decision{}, false
	}
	text := "destroyed by Run " + name
	if r := w.RunNamed(name); r != nil && r.Spec.Cause.By != "" {
		text += ", requested by " + r.Spec.Cause.By
	}
	if !w.StateIsEmpty() {
		text += fmt.Sprintf("; but %s: cairn destroy %s tries again", remainder(w), w.Stack.Name)
	}
	if after != nil {
		text += fmt.Sprintf("; since then Run %s was %s: %s", after.Name, after.Status.Phase, messageOf(after))
	}
	return stalled(v1alpha1.ReasonDestroyed, "%s; cairn apply %s creates it again", text, w.Stack.Name)
}

// remainder describes what a destroy that succeeded has left.
func remainder(w Snapshot) string { return remainderOf(w.State, w.Unsaved) }

func remainderOf(state *v1alpha1.State, unsaved []string) string {
	if state == nil {
		return "the state is not known"
	}
	switch s := state.Status; {
	case s.Resources > 0:
		return fmt.Sprintf("the state holds %d resources still", s.Resources)
	case s.Lock != nil && s.Lock.By != "":
		return fmt.Sprintf("user %s holds the lock of the state, and may create resources under it (cairn state "+
			"unlock %s %s ends it)",
			s.Lock.By, state.Name, s.Lock.ID)
	case s.Lock != nil:
		return fmt.Sprintf("attempt %d of Run %s was lost in the middle of an apply, so there may be resources that "+
			"no state knows", s.Lock.Attempt, s.Lock.Run)
	case len(unsaved) > 0:
		return fmt.Sprintf("an apply that was killed created %s, which is in no state", unsaved[0])
	case s.Rescued != nil:
		return "there is a state that was saved aside"
	}
	return "its engine encrypts the state, so Cairn cannot read what it holds"
}

// lastChange is the newest Run that decides how the Stack stands: LastMutatingRun, but no shell, which was never
// declared and cannot be repeated, not even one that lost its state.
func (w Snapshot) lastChange() *v1alpha1.Run { return w.newestRun(w.isChange) }

func (w Snapshot) isChange(r *v1alpha1.Run) bool { return !isShell(r) && w.isMutating(r) }

// retry is what a retry of the Stack requests after a decision; nil if there is nothing to retry. The write that names
// a Run has it already, so that it is known at the moment in which the Run fails.
func retry(w Snapshot, d Decision) *v1alpha1.StackRetry {
	last, deleted := w.lastChange(), w.Stack.DeletionTimestamp != nil
	if d.Start != nil {
		if started := (&v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: d.Name}, Spec: *d.Start}); w.isChange(
			started) {
			last = started
		}
	}
	if last == nil {
		if !deleted {
			return nil
		}
		return &v1alpha1.StackRetry{Operation: v1alpha1.OperationDestroy}
	}
	next := &v1alpha1.StackRetry{Operation: v1alpha1.OperationApply, Run: last.Name}
	destroys := last.Spec.Operation == v1alpha1.OperationDestroy
	if deleted || destroys {
		next.Operation = v1alpha1.OperationDestroy
	}
	switch {
	case last.Status.Phase == v1alpha1.PhaseSucceeded && (!deleted || !destroys), // that destroy has left resources
		last.Status.Phase == v1alpha1.PhaseSuperseded && !deleted:
		return nil
	}
	return next
}

// destroyStopped reports a requested destroy that ended early. What is gone is not created again by itself, whatever
// changes, since a user asked to destroy it.
func destroyStopped(w Snapshot) (Decision, bool) {
	last := w.lastChange()
	if w.changeUnderWay() != nil || last == nil || last.Spec.Operation != v1alpha1.OperationDestroy || !begun(last) {
		return Decision{}, false
	}
	const again = "cairn apply %s recreates what is gone"
	switch name := w.Stack.Name; last.Status.Phase {
	case v1alpha1.PhaseFailed:
		return stalled(v1alpha1.ReasonRunFailed, "Run %s failed: %s; cairn retry %s continues the destroy, "+again,
			last.Name, messageOf(last), name, name)
	case v1alpha1.PhaseCanceled:
		return stalled(stoppedReason(last), "Run %s: %s, "+again, last.Name, messageOf(last), name)
	}
	return Decision{}, false
}

func lastRunFailed(w Snapshot) (Decision, bool) {
	last := w.LastMutatingRun()
	if last == nil || last.Status.Phase != v1alpha1.PhaseFailed || !matchesCurrentInputs(w, last) {
		return Decision{}, false
	}
	hint := fmt.Sprintf("correct the cause, or repeat the Run unchanged: cairn retry %s", w.Stack.Name)
	if last.Spec.Operation == v1alpha1.OperationDestroy {
		hint = fmt.Sprintf("cairn retry %s tries again, cairn apply %s keeps what there is", w.Stack.Name, w.Stack.Name)
		if preventsDestroy(last) {
			hint = fmt.Sprintf("a destroy uses the code of the last apply: remove prevent_destroy from the code and "+
				"run cairn apply %s, then cairn destroy %s", w.Stack.Name, w.Stack.Name)
		}
	}
	return stalled(failureReason(last), "Run %s failed: %s; %s", last.Name, messageOf(last), hint)
}

// failureReason is the reason of Ready after a Run that failed.
func failureReason(r *v1alpha1.Run) string {
	if n := len(r.Status.Attempts); n > 0 {
		if f := r.Status.Attempts[n-1].Failure; f != nil && f.Reason == v1alpha1.FailureBackendInCode {
			return v1alpha1.ReasonBackendInCode
		}
	}
	return v1alpha1.ReasonRunFailed
}

// stoppedReason is the reason of Ready after a Run that a user stopped.
func stoppedReason(r *v1alpha1.Run) string {
	if runCondition(r).Reason == v1alpha1.ReasonRejected {
		return v1alpha1.ReasonRunRejected
	}
	return v1alpha1.ReasonRunCanceled
}

// lastRunCanceled starts no other Run after a user canceled one, until its inputs change or a user asks. A canceled Run
// that had found nothing to change proves nothing about what is applied.
func lastRunCanceled(w Snapshot) (Decision, bool) {
	last := w.LastMutatingRun()
	if last == nil || last.Status.Phase != v1alpha1.PhaseCanceled || !matchesCurrentInputs(w, last) {
		return Decision{}, false
	}
	if foundNothing := last.Status.Plan == nil ||
		!last.Status.Plan.Changes; foundNothing && appliedInputs(w) == w.Digest {
		return Decision{}, false
	}
	hint := "" // the Run's message has the next step for an apply that ended early
	switch name := w.Stack.Name; {
	case begun(last):
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		hint = fmt.Sprintf("; cairn destroy %s asks for it again, cairn apply %s keeps what there is", name, name)
	default:
		hint = fmt.Sprintf("; change the Stack or its inputs, or request the same again: cairn apply %s", name)
	}
	return stalled(stoppedReason(last), "Run %s: %s%s", last.Name, messageOf(last), hint)
}

// matchesCurrentInputs reports that a Run was for the current inputs. A destroy is for inputs that were applied before.
func matchesCurrentInputs(w Snapshot, r *v1alpha1.Run) bool {
	return r.Spec.Operation == v1alpha1.OperationDestroy || r.Spec.InputsDigest == w.Digest
}

// begun reports that an apply of the Run began, so that it may have changed resources.
func begun(r *v1alpha1.Run) bool { return runinfo.Began(r) }

// stateIsStranded stops a Stack while no state has what the last apply created. A plan without that would create it
// twice.
func stateIsStranded(w Snapshot) (Decision, bool) {
	last := w.LastMutatingRun()
	if last == nil || w.changeUnderWay() != nil || !isStranded(last) || stateWasRestored(w, last) {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonStateNotSaved, "Run %s: %s. Nothing is planned before the state is put back: cairn "+
		"state recover %s; if the state is lost, delete Run %s to continue without it: resources that it created may "+
		"then be created twice",
		last.Name, messageOf(last), w.Stack.Name, last.Name)
}

func isStranded(r *v1alpha1.Run) bool {
	return runCondition(r).Reason == string(v1alpha1.FailureStateNotSaved)
}

// stateWasRestored reports that a version of the state was written after the Run lost its own: only a user can have
// written it.
func stateWasRestored(w Snapshot, r *v1alpha1.Run) bool {
	i := len(r.Status.Attempts) - 1
	if i < 0 || w.State == nil || r.Status.Attempts[i].FinishedAt == nil {
		return false
	}
	lost := r.Status.Attempts[i].FinishedAt.Time
	return slices.ContainsFunc(w.State.Status.Versions, func(v v1alpha1.StateVersion) bool { return v.At.After(lost) })
}

func isShell(r *v1alpha1.Run) bool { return r.Spec.Operation == v1alpha1.OperationShell }

// stoppedByUser reports that a user canceled or rejected a destroy since the Stack was deleted.
func stoppedByUser(w Snapshot, r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseCanceled && isOfDeletion(w, r)
}

// isOfDeletion reports that a destroy was created, or ended, since the Stack was deleted. One from before does not
// count. The end is by Cairn's clock, which may be behind that of the API server, so the creation, by the API server's
// clock, and the cause come first.
func isOfDeletion(w Snapshot, r *v1alpha1.Run) bool {
	if r.Spec.Operation != v1alpha1.OperationDestroy || r.Status.FinishedAt == nil {
		return false
	}
	deleted := w.Stack.DeletionTimestamp
	return r.Spec.Cause.Type == v1alpha1.CauseDeletion || deleted.Before(&r.CreationTimestamp) ||
		!r.Status.FinishedAt.Before(deleted)
}

// RunNamed returns a Run by name; nil when there is none.
func (w Snapshot) RunNamed(name string) *v1alpha1.Run {
	if i := slices.IndexFunc(w.Runs, func(r v1alpha1.Run) bool { return r.Name == name }); i >= 0 {
		return &w.Runs[i]
	}
	return nil
}

// isReadOnly reports that a Run changes nothing and does not affect the Ready condition: a drift check, or one that a
// user asked for. Where nothing is ever applied every Run only plans, and all of them count. What a user does in a
// shell was never declared, and does not count either, unless its state was lost.
func (w Snapshot) isReadOnly(r *v1alpha1.Run) bool {
	if isShell(r) {
		return !isStranded(r)
	}
	if r.Spec.PlanOptions.IsPartial() && !begun(r) && (r.Status.Phase.Finished() ||
		r.Spec.Operation == v1alpha1.OperationPlan) {
		return true // a plan without all changes does not show what is declared
	}
	return runinfo.IsDriftCheck(r) ||
		(r.Spec.Operation == v1alpha1.OperationPlan && r.Spec.Cause.Type == v1alpha1.CauseManual &&
			w.Stack.Spec.Apply != v1alpha1.ApplyNever)
}

// appliedAPart reports that an apply of a Run began whose plan did not have all changes of the code, so that what is
// declared is not known to be applied.
func appliedAPart(r *v1alpha1.Run) bool {
	return r.Spec.Operation == v1alpha1.OperationApply && begun(r) && runinfo.Partial(r) != ""
}
