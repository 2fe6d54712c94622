package decision

import (
	"fmt"
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for a Stack that is being deleted. It is deleted only when its state is empty, when its deletion policy is
// Orphan, or when it never applied the state.

func hasNoFinalizer(w Snapshot) (Decision, bool) {
	return Decision{}, !slices.Contains(w.Stack.Finalizers, v1alpha1.Finalizer)
}

func isOrphaned(w Snapshot) (Decision, bool) {
	return Decision{Finish: true}, w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// runEndsFirst: a Run that is not the destroy ends, or is superseded, before anything else.
func runEndsFirst(w Snapshot) (Decision, bool) {
	r := w.ActiveRun()
	if r == nil || (r.Spec.Operation == v1alpha1.OperationDestroy && w.Stack.Spec.DeletionPolicy !=
		v1alpha1.DeletionOrphan) {
		return Decision{}, false
	}
	return progressing(v1alpha1.ReasonDeleting, "Run %s ends first: %s", r.Name, messageOf(r))
}

func isDestroyed(w Snapshot) (Decision, bool) {
	return Decision{Finish: true, RemoveState: true}, w.StateIsEmpty() && w.UnclaimedState == "" && w.ActiveRun() == nil
}

// hasUnclaimedState leaves a state that the State does not name, in a backup or in Secrets: the Stack never had it, and
// it may be the only copy.
func hasUnclaimedState(w Snapshot) (Decision, bool) {
	if w.UnclaimedState == "" || w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionProtect {
		return Decision{}, false
	}
	return Decision{Finish: true, Reason: v1alpha1.EventStateOrphaned,
		Message: "no resource is destroyed, and the state stays: " +
			w.UnclaimedState}, true
}

// isNotItsOwn leaves a State that the Stack never applied: the deletion of a Stack that has changed nothing changes
// nothing, and needs no verb of its user. A user with the verb destroy asks for it first.
func isNotItsOwn(w Snapshot) (Decision, bool) {
	q, asked := PendingRequest(w)
	asked = asked && q.Operation == v1alpha1.OperationDestroy
	if !w.TakesOverState() || asked || w.ActiveRun() != nil || w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionProtect {
		return Decision{}, false
	}
	return Decision{Finish: true, Reason: v1alpha1.EventStateOrphaned, Message: fmt.Sprintf(
		"%s, and this Stack never applied the state: both stay. To destroy the resources, create Stack %s "+
			"again and run cairn destroy %[2]s, before you delete it", remainder(w), w.Stack.Name)}, true
}

// destroyIsSuspended destroys nothing while the Stack is suspended.
func destroyIsSuspended(w Snapshot) (Decision, bool) { return suspension(w), w.Stack.Spec.Suspend }

func isProtected(w Snapshot) (Decision, bool) {
	if w.Stack.Spec.DeletionPolicy != v1alpha1.DeletionProtect {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonDeletionProtected, "the Stack was deleted, but spec.deletionPolicy is Protect: set "+
		"it to Destroy to destroy its resources, or to Orphan to delete only the Stack")
}

func isNeverApplied(w Snapshot) (Decision, bool) {
	if w.Stack.Spec.Apply != v1alpha1.ApplyNever {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonApplyNever, "nothing is destroyed while spec.apply is Never: set it to Manual or "+
		"Automatic, or spec.deletionPolicy to Orphan")
}

func destroyIsUnderWay(w Snapshot) (Decision, bool) {
	r := w.ActiveRun()
	if r == nil {
		return Decision{}, false
	}
	return runProgress(r)
}

// namespaceEnds stops a destroy that needs a pod, where the API server creates none any more.
func namespaceEnds(w Snapshot) (Decision, bool) {
	if !w.NamespaceTerminating {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonNamespaceTerminating, "the namespace is being deleted, so no pod can be created in "+
		"it to destroy %s: destroy them with the engine (`tofu destroy`), or set spec.deletionPolicy to Orphan. Then "+
		"the resources stay, and the bucket keeps a backup of the state for a Stack %s in a namespace of this name "+
		"(cairn state restore %[2]s). Next time delete the Stacks before the namespace", countResources(resources(w)),
		w.Stack.Name)
}

// destroyLeftResources: a destroy succeeded, but the State is not empty.
func destroyLeftResources(w Snapshot) (Decision, bool) {
	if _, ok := PendingRequest(w); ok || !w.LastRunDestroyed() {
		return Decision{}, false
	}
	if last := w.LatestRun(); last.Status.Plan != nil && last.Status.Plan.Script {
		return stalled(v1alpha1.ReasonDestroyIncomplete, "the script of Run %s (spec.commands.destroy, as it was "+
			"last applied) succeeded, but %s: cairn retry %s runs it once more; or destroy what is left by hand, "+
			"then set spec.deletionPolicy to Orphan",
			last.Name, remainder(w), w.Stack.Name)
	}
	return stalled(v1alpha1.ReasonDestroyIncomplete, "Run %s destroyed what the state had, but %s: cairn retry %s "+
		"destroys once more; or delete what is left by hand, then set spec.deletionPolicy to Orphan",
		w.LatestRun().Name, remainder(w), w.Stack.Name)
}

// destroyWasStopped does not start a destroy again that a user stopped.
func destroyWasStopped(w Snapshot) (Decision, bool) {
	last := w.LatestRun()
	if _, ok := PendingRequest(w); ok || last == nil || !stoppedByUser(w, last) {
		return Decision{}, false
	}
	hint := fmt.Sprintf("; cairn retry %s destroys", w.Stack.Name)
	if begun(last) {
		hint = "" // the message of the Run has it
	}
	return stalled(stoppedReason(last),
		"Run %s: %s%s; to leave what is left as it is, set spec.deletionPolicy to Orphan", last.Name, messageOf(last),
		hint)
}

// statesDiverged: the last destroy found a rescued state that does not follow the current version. A user merges the
// two; until then every plan ends the same way. A rescued state that does follow became a version before the plan.
func statesDiverged(w Snapshot) (Decision, bool) {
	last := w.LatestRun()
	if _, ok := PendingRequest(w); ok || last == nil || w.State.Status.Rescued == nil || !isOfDeletion(w, last) ||
		runCondition(last).Reason != string(v1alpha1.FailureConfigurationError) {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonDestroyFailed, "Run %s failed: %s; to leave the resources as they are, set "+
		"spec.deletionPolicy to Orphan",
		last.Name, messageOf(last))
}

// destroyIsPrevented: the code of the last apply, which every destroy uses, has prevent_destroy. A user decides.
func destroyIsPrevented(w Snapshot) (Decision, bool) {
	last := w.LatestRun()
	if _, ok := PendingRequest(w); ok || last == nil || !isOfDeletion(w, last) || !preventsDestroy(last) {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonDestroyFailed, "Run %s failed: %s; a destroy uses the code of the last apply. To "+
		"leave the resources as they are, set spec.deletionPolicy to Orphan; to destroy them, do the same, create "+
		"the Stack again from code without prevent_destroy, and run cairn destroy %s when it is Ready", last.Name,
		messageOf(last), w.Stack.Name)
}

// preventsDestroy reports that a Run failed because of prevent_destroy.
func preventsDestroy(r *v1alpha1.Run) bool {
	a := runinfo.Current(&r.Status)
	return r.Status.Phase == v1alpha1.PhaseFailed && a != nil && a.Failure != nil &&
		a.Failure.Reason == v1alpha1.FailurePreventDestroy
}

// destroyIsDue starts the destroy, and retries one that failed after spec.retry.maxBackoff, for as long as it takes. A
// request starts it at once.
func destroyIsDue(w Snapshot) (Decision, bool) {
	inputs := w.State.Status.InputsDigest
	if inputs == "" {
		return stalled(v1alpha1.ReasonAppliedInputsUnknown, "the state holds %s, but Cairn knows of no apply that "+
			"created them: destroy them with the engine, or set spec.deletionPolicy to Orphan",
			countResources(resources(w)))
	}
	if q, ok := PendingRequest(w); ok {
		return startRequested(w, q, v1alpha1.RunSpec{Operation: v1alpha1.OperationDestroy, InputsDigest: inputs})
	}
	last := w.LatestRun()
	if last != nil && last.Status.Phase == v1alpha1.PhaseFailed && isOfDeletion(w, last) && !isStranded(last) {
		again := last.Status.FinishedAt.Add(max(w.Stack.Spec.Retry.MaxBackoff.Duration, time.Second))
		if w.Now.Before(again) && !w.isInFuture(*last.Status.FinishedAt) {
			d, ok := Unready(v1alpha1.ReasonDestroyFailed, "Run %s failed: %s; the next try is at %s, or now: cairn "+
				"retry %s; to leave what is left as it is, set spec.deletionPolicy to Orphan",
				last.Name, messageOf(last), again.UTC().Format(time.RFC3339), w.Stack.Name)
			d.RequeueAfter = again.Sub(w.Now)
			return d, ok
		}
	}
	return startRun(w, v1alpha1.RunSpec{
		Operation:    v1alpha1.OperationDestroy,
		Cause:        deletionCause(),
		InputsDigest: inputs,
	})
}

func deletionCause() v1alpha1.Cause {
	return v1alpha1.Cause{Type: v1alpha1.CauseDeletion, Message: "the Stack was deleted"}
}

// journalIsUnreadable keeps a Stack whose journal cannot be read: there may be resources that no state has.
func journalIsUnreadable(w Snapshot) (Decision, bool) {
	if w.StateUnreadable == "" {
		return Decision{}, false
	}
	d, ok := stalled(v1alpha1.ReasonDestroyIncomplete,
		"%s; to leave what is left as it is, set spec.deletionPolicy to Orphan", w.StateUnreadable)
	d.RequeueAfter = unreadableRequeue
	return d, ok
}

// unreadableRequeue is when to check a journal again that could not be read. A user has to correct it, and that causes
// no event.
const unreadableRequeue = time.Minute

// Leftover is a Run that is no longer the Stack's, or its pod, and has not ended. Nothing prevents a user from deleting
// a Run while its pod applies. The pod continues until it has saved its state, so the next Run waits for it, and so
// does the deletion of the Stack. A Run that a former leader created late, after the next one was named, is superseded,
// and the next Run waits for its end too.
type Leftover struct{ Run, Pod string }

// leftoverEndsFirst: two Runs of a Stack do not run at the same time, also when one of them was deleted or created
// late.
func leftoverEndsFirst(w Snapshot) (d Decision, ok bool) {
	switch left := w.Leftover; {
	case left.Run == "":
		return d, false
	case left.Pod == "":
		d, ok = progressing(v1alpha1.ReasonRunning, "Run %s ends first: it was created late, after Run %s was named",
			left.Run, w.Stack.Status.LastRun)
	default:
		d, ok = Unready(v1alpha1.ReasonPodTerminating, "Run %s was deleted, and its pod %s has not ended: the Stack "+
			"waits for that; if its node is off for good: kubectl delete pod %s --force",
			left.Run, left.Pod, left.Pod)
	}
	d.RequeueAfter = leftoverRequeue
	return d, ok
}

// leftoverRequeue is when to check again whether a pod has ended whose Run was deleted, if its end causes no event: a
// user removed its labels.
const leftoverRequeue = 10 * time.Second
