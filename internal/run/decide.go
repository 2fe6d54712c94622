package run

import (
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// Decision is the one next thing for a Run. Its parts are done in this order: end the current attempt, begin one, move
// to the phase, say why.
type Decision struct {
	// End fails the current attempt.
	End *v1alpha1.Failure
	// Explain gives the failure of the current attempt, which is over, another message.
	Explain string
	// RetryAt is when the next try begins.
	RetryAt time.Time
	// Begin an attempt at this phase.
	Begin v1alpha1.AttemptPhase
	// InPod gives the attempt that is begun to the pod of the current one; otherwise a new pod is made.
	InPod bool
	// Image that the Run runs in from the attempt on that is begun, or that this one builds.
	Image *v1alpha1.BuiltImage
	// DeletePod ends the current attempt's pod.
	DeletePod bool
	// Phase to move to; empty stays.
	Phase v1alpha1.RunPhase
	// Reason and Message say why, in the condition.
	Reason, Message string
	// RequeueAfter looks again after this time; 0 waits for an event.
	RequeueAfter time.Duration
}

// NeedsPod says that a pod has to be made before the rest of the decision can be reported.
func (d Decision) NeedsPod() bool { return d.Begin != "" && !d.InPod }

// settled says that nothing more follows from it before the world changes.
func (d Decision) settled() bool {
	return d.End == nil && d.Explain == "" && d.RetryAt.IsZero() && (d.Begin == "" || d.NeedsPod())
}

// A rule decides, or leaves it to the next one.
type rule func(World) (Decision, bool)

// Decide says the one next thing. The first rule that has an answer wins.
func Decide(w World) Decision {
	for _, r := range []rule{
		isFinished,
		podIsLost,
		cancelComesEarly,
		podCannotStart,
		podIsTooLate,
		attemptIsOverdue,
		shellHasNoStack,
		attemptIsUnderWay,
		interruptIsExplained,
		shellIsOver,
		runnerMayBeLeft,
		isCanceled,
		isRejected,
		inputsAreStale,
		attemptFailed,
		isQueued,
		imageIsBuilt,
		planIsMade,
		applyIsDone,
	} {
		if d, ok := r(w); ok {
			return d
		}
	}
	return Decision{}
}

// overdue is how long after its timeout an attempt may still report, before its pod is deleted.
const overdue = 15 * time.Minute

// margin before an idle pod leaves in which it gets no more work, so that it cannot leave with it.
const margin = 2 * time.Second

func isFinished(w World) (Decision, bool) { return Decision{}, w.Run.Status.Phase.Finished() }

// unfinished is the current attempt while it is under way.
func unfinished(w World) *v1alpha1.Attempt {
	if a := current(&w.Run.Status); a != nil && a.FinishedAt == nil {
		return a
	}
	return nil
}

// inputsAreStale: what this Run would do is no longer what is wanted, and nothing of it is under way.
func inputsAreStale(w World) (Decision, bool) {
	why := staleness(w)
	if why == "" || applied(w) {
		return Decision{}, false
	}
	a := current(&w.Run.Status)
	if a != nil && a.Failure != nil && runinfo.Began(w.Run) { // something may have been applied
		return Decision{Phase: v1alpha1.PhaseFailed, Reason: string(a.Failure.Class),
			Message: fmt.Sprintf("%s: %s; not tried again since %s", failedStep(a), a.Failure.Message, why)}, true
	}
	return Decision{Phase: v1alpha1.PhaseSuperseded, Reason: v1alpha1.ReasonSuperseded, Message: why}, true
}

// staleness says why what the Run would do is not wanted any more; empty when it is.
func staleness(w World) string {
	destroy := w.Run.Spec.Operation == v1alpha1.OperationDestroy
	switch {
	case w.Stack == nil:
		return "the Stack was deleted"
	case !destroy && w.Stack.DeletionTimestamp != nil:
		return "the Stack is being deleted"
	case runinfo.Number(w.Stack.Status.LastRun) < runinfo.Number(w.Run.Name): // a view of the Stack from before this Run tells nothing
		return ""
	case runinfo.Number(w.Stack.Status.LastRun) > runinfo.Number(w.Run.Name):
		return "a newer Run of the Stack exists (" + w.Stack.Status.LastRun + "): a former leader created this one late"
	case !destroy && w.Stack.Status.InputsDigest != w.Run.Spec.InputsDigest:
		return "the inputs changed"
	case destroy && !mayDestroy(w.Stack):
		return "spec.deletionPolicy is " + string(w.Stack.Spec.DeletionPolicy) + " now"
	}
	return replaced(w)
}

// mayDestroy says that spec.deletionPolicy lets what the Stack made be destroyed. Orphan speaks of what a deletion leaves, not of
// what somebody asks for.
func mayDestroy(stack *v1alpha1.Stack) bool {
	switch stack.Spec.DeletionPolicy {
	case v1alpha1.DeletionProtect:
		return false
	case v1alpha1.DeletionOrphan:
		return stack.DeletionTimestamp == nil
	}
	return true
}

// applied says that the last attempt was an apply that went well.
func applied(w World) bool {
	a := current(&w.Run.Status)
	return a != nil && a.Phase == v1alpha1.AttemptApply && a.FinishedAt != nil && a.Failure == nil
}

// finds says that the last attempt was a plan after which nothing is to be done: it found no changes, or was only to look.
func finds(w World) bool {
	a, plan := current(&w.Run.Status), w.Run.Status.Plan
	return a != nil && a.Phase == v1alpha1.AttemptPlan && a.FinishedAt != nil && a.Failure == nil && plan != nil &&
		(!plan.Changes || w.Run.Spec.Operation == v1alpha1.OperationPlan)
}

func isQueued(w World) (Decision, bool) {
	if current(&w.Run.Status) != nil {
		return Decision{}, false
	}
	if w.Older != "" {
		return Decision{Phase: v1alpha1.PhaseQueued, Reason: v1alpha1.ReasonQueued, Message: "waits for Run " + w.Older + " to end"}, true
	}
	if isShell(w.Run) {
		return startIn(w, v1alpha1.AttemptShell), true
	}
	return startIn(w, v1alpha1.AttemptPlan), true
}

// start begins an attempt in a new pod, if one may be started now.
func start(w World, phase v1alpha1.AttemptPhase) Decision {
	at := w.Run.Status.Phase
	if at == "" {
		at = v1alpha1.PhaseQueued
	}
	switch {
	case w.Stack.Spec.Suspend:
		return Decision{Phase: at, Reason: v1alpha1.ReasonSuspended, Message: "waits for spec.suspend of the Stack to be false"}
	case w.Missing != "":
		return Decision{Phase: at, Reason: v1alpha1.ReasonInputsNotFound, Message: w.Missing}
	}
	if d, closed := windowCloses(w, phase, at); closed {
		return d
	}
	d := Decision{Begin: phase, Phase: v1alpha1.PhasePlanning, Message: "in pod " + podName(w.Run.Name, phase, nextNumber(&w.Run.Status))}
	switch phase {
	case v1alpha1.AttemptApply:
		d.Phase = v1alpha1.PhaseApplying
	case v1alpha1.AttemptShell:
		d.Phase = v1alpha1.PhaseShell
	}
	d.Reason = reasonAt(d.Phase, phase)
	return d
}

// reasonAt is the reason while an attempt is at work.
func reasonAt(phase v1alpha1.RunPhase, attempt v1alpha1.AttemptPhase) string {
	if attempt == v1alpha1.AttemptBuild {
		return v1alpha1.ReasonBuilding
	}
	return string(phase)
}

// planIsMade: the last attempt was a plan that went well.
func planIsMade(w World) (Decision, bool) {
	a, plan := current(&w.Run.Status), w.Run.Status.Plan
	if a.Phase != v1alpha1.AttemptPlan || plan == nil {
		return Decision{}, false
	}
	switch {
	case !plan.Changes:
		return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonNoChanges, Message: "no changes"}, true
	case w.Run.Spec.Operation == v1alpha1.OperationPlan:
		return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonPlanned, Message: runinfo.Summary(plan)}, true
	case !approved(w):
		return Decision{Phase: v1alpha1.PhaseAwaitingApproval, Reason: v1alpha1.ReasonAwaitingApproval, Message: runinfo.Summary(plan) + approvalHint(w)}, true
	case podIsIdle(w, a):
		if d, closed := windowCloses(w, v1alpha1.AttemptApply, v1alpha1.PhaseAwaitingApproval); closed {
			return d, true
		}
		return Decision{Begin: v1alpha1.AttemptApply, InPod: true, Phase: v1alpha1.PhaseApplying,
			Reason: string(v1alpha1.PhaseApplying), Message: "in pod " + a.Pod}, true
	}
	d := start(w, v1alpha1.AttemptApply)
	if d.Begin == "" {
		d.Phase = v1alpha1.PhaseAwaitingApproval
	}
	return d, true
}

// windowCloses says that spec.windows of the Stack do not let an attempt begin now.
func windowCloses(w World, phase v1alpha1.AttemptPhase, at v1alpha1.RunPhase) (Decision, bool) {
	windows, err := ParseWindows(w.Stack.Spec.Windows)
	if err != nil { // what they were meant to keep out is not known
		return Decision{Phase: at, Reason: v1alpha1.ReasonWindowInvalid, Message: err.Error()}, true
	}
	operation := v1alpha1.OperationPlan
	if phase == v1alpha1.AttemptApply {
		operation = w.Run.Spec.Operation
	}
	closed, why, until := windows.Closed(operation, w.Now)
	d := Decision{Phase: at, Reason: v1alpha1.ReasonWindowClosed, Message: why}
	if closed && !until.IsZero() {
		d.RequeueAfter = until.Sub(w.Now)
	}
	return d, closed
}

// podIsIdle says that the pod which made the plan is there and stays long enough to be given the apply.
func podIsIdle(w World, a *v1alpha1.Attempt) bool {
	return w.Pod.State == PodRunning && !w.Stack.Spec.Suspend && w.Now.Before(IdleUntil(w.Stack, a).Add(-margin))
}

// IdleUntil is when the pod of an attempt that is over exits if nobody gave it more to do.
func IdleUntil(stack *v1alpha1.Stack, a *v1alpha1.Attempt) time.Time {
	return a.FinishedAt.Add(stack.Spec.Runner.IdleTimeout.Duration)
}

func applyIsDone(w World) (Decision, bool) {
	if !applied(w) {
		return Decision{}, false
	}
	reason := v1alpha1.ReasonApplied
	if w.Run.Spec.Operation == v1alpha1.OperationDestroy {
		reason = v1alpha1.ReasonDestroyed
	}
	return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: reason, Message: runinfo.Summary(w.Run.Status.Plan)}, true
}
