package stack

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
)

// The rules for a Stack that is being deleted. A Stack goes only when its state is empty, or Orphan says so.

func hasNoFinalizer(w World) (Decision, bool) {
	return Decision{}, !controllerutil.ContainsFinalizer(w.Stack, v1alpha1.Finalizer)
}

func isOrphaned(w World) (Decision, bool) {
	return Decision{Finish: true}, w.Stack.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// runEndsFirst: a Run that is not the destroy ends, or is superseded, before anything else.
func runEndsFirst(w World) (Decision, bool) {
	r := w.active()
	if r == nil || (r.Spec.Operation == v1alpha1.OperationDestroy && w.Stack.Spec.DeletionPolicy != v1alpha1.DeletionOrphan) {
		return Decision{}, false
	}
	return progressing(v1alpha1.ReasonDeleting, "Run %s ends first: %s", r.Name, runCondition(r).Message)
}

func isDestroyed(w World) (Decision, bool) {
	return Decision{Finish: true, RemoveState: true}, w.empty() && w.active() == nil
}

func isProtected(w World) (Decision, bool) {
	if w.Stack.Spec.DeletionPolicy != v1alpha1.DeletionProtect {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonDeletionProtected, "the Stack was deleted, but spec.deletionPolicy is Protect: set it to Destroy to destroy what it made, or to Orphan to let it go and keep that")
}

func isNeverApplied(w World) (Decision, bool) {
	if w.Stack.Spec.Apply != v1alpha1.ApplyNever {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonApplyNever, "nothing is destroyed while spec.apply is Never: set it to Manual or Automatic, or spec.deletionPolicy to Orphan")
}

func destroyIsUnderWay(w World) (Decision, bool) {
	r := w.active()
	if r == nil {
		return Decision{}, false
	}
	return under(r)
}

// namespaceEnds: a destroy needs a pod, and none can be made any more.
func namespaceEnds(w World) (Decision, bool) {
	if !w.NamespaceTerminating {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonNamespaceTerminating, "the namespace is being deleted, so no pod can be made in it to destroy %d resources: destroy them with the engine (`tofu destroy`) or leave them, then set spec.deletionPolicy to Orphan; next time delete the Stacks before the namespace", resources(w))
}

// destroyLeftSomething: a destroy went well and yet the State is not empty.
func destroyLeftSomething(w World) (Decision, bool) {
	if _, ok := asked(w); ok || !w.destroyed() {
		return Decision{}, false
	}
	if last := w.last(); last.Status.Plan != nil && last.Status.Plan.Script {
		return stalled(v1alpha1.ReasonDestroyIncomplete, "the script of Run %s (spec.commands.destroy, as it was last applied) succeeded, but %s: cairn retry %s runs it once more; or destroy what is left by hand, then set spec.deletionPolicy to Orphan",
			last.Name, left(w), w.Stack.Name)
	}
	return stalled(v1alpha1.ReasonDestroyIncomplete, "Run %s destroyed what the state had, but %s: cairn retry %s destroys once more; or delete what is left by hand, then set spec.deletionPolicy to Orphan",
		w.last().Name, left(w), w.Stack.Name)
}

// destroyWasStopped: somebody did not want it to go on.
func destroyWasStopped(w World) (Decision, bool) {
	last := w.last()
	if _, ok := asked(w); ok || last == nil || !stoppedByHand(w, last) {
		return Decision{}, false
	}
	hint := fmt.Sprintf("; cairn retry %s destroys", w.Stack.Name)
	if begun(last) {
		hint = "" // the Run says it
	}
	return stalled(stoppedReason(last), "Run %s: %s%s; to leave what is left as it is, set spec.deletionPolicy to Orphan", last.Name, runCondition(last).Message, hint)
}

// destroyIsDue starts the destroy, and starts it again some time after one that failed, for as long as it takes. Who asks
// need not wait for that time.
func destroyIsDue(w World) (Decision, bool) {
	inputs := w.State.Status.InputsDigest
	if inputs == "" {
		return stalled(v1alpha1.ReasonAppliedInputsUnknown, "the state holds %d resources, but no apply of Cairn's is known to have made them: destroy them with the engine, or set spec.deletionPolicy to Orphan", w.State.Status.Resources)
	}
	if q, ok := asked(w); ok {
		return startAsked(w, q, v1alpha1.RunSpec{Operation: v1alpha1.OperationDestroy, InputsDigest: inputs})
	}
	last := w.last()
	if last != nil && last.Status.Phase == v1alpha1.PhaseFailed && isOfDeletion(w, last) && !isStranded(last) {
		again := last.Status.FinishedAt.Add(max(w.Stack.Spec.Retry.MaxBackoff.Duration, time.Second))
		if w.Now.Before(again) && !w.isAhead(*last.Status.FinishedAt) {
			d, ok := unready(v1alpha1.ReasonDestroyFailed, "Run %s failed: %s; the next try is at %s, or now: cairn retry %s; to leave what is left as it is, set spec.deletionPolicy to Orphan",
				last.Name, runCondition(last).Message, again.UTC().Format(time.RFC3339), w.Stack.Name)
			d.RequeueAfter = again.Sub(w.Now)
			return d, ok
		}
	}
	return startRun(w, v1alpha1.RunSpec{
		Operation:    v1alpha1.OperationDestroy,
		Cause:        v1alpha1.Cause{Type: v1alpha1.CauseDeletion, Message: "the Stack was deleted"},
		InputsDigest: inputs,
	})
}
