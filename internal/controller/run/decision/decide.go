// Package decision decides what comes next for a Run. It is pure: a Snapshot in, a Decision or a status out; no client,
// no clock and no log.
package decision

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/lifecycle/stackpolicy"
)

// Decision is the next action for a Run. Its parts are done in this order: end the current attempt, begin one, move
// to the phase, set the condition.
type Decision struct {
	// End fails the current attempt.
	End *v1alpha1.Failure
	// Explain is the failure of the current attempt, which is over, in more detail.
	Explain *v1alpha1.Failure
	// RetryAt is when the next try begins.
	RetryAt time.Time
	// Begin an attempt at this phase.
	Begin v1alpha1.AttemptPhase
	// InPod runs the attempt that is begun in the pod of the current one; otherwise a new pod is created.
	InPod bool
	// Image that the Run runs in from the attempt on that is begun, or that this one builds.
	Image *v1alpha1.BuiltImage
	// DeletePod ends the current attempt's pod.
	DeletePod bool
	// Phase to move to; empty stays.
	Phase v1alpha1.RunPhase
	// Reason and Message are those of the condition.
	Reason, Message string
	// OpensAt is when the window opens that the Run waits for; zero for none, and if there is no opening within a year.
	OpensAt time.Time
	// RequeueAfter is the time after which the Run is reconciled again; 0 waits for an event.
	RequeueAfter time.Duration
}

// NeedsPod reports whether a pod has to be created before the rest of the decision can be reported.
func (d Decision) NeedsPod() bool { return d.Begin != "" && !d.InPod }

// settled reports whether nothing more follows from it before the snapshot changes.
func (d Decision) settled() bool {
	return d.End == nil && d.Explain == nil && d.RetryAt.IsZero() && (d.Begin == "" || d.NeedsPod())
}

// A rule decides, or leaves it to the next one.
type rule func(Snapshot) (Decision, bool)

// Settle decides until an action or a wait is due, and returns the status so far and that last decision. A
// pod that it asks for is not in the status yet: Begin puts it there.
func Settle(w Snapshot) (v1alpha1.RunStatus, Decision) {
	w.Run = w.Run.DeepCopy()
	deletePod := false
	for {
		d := Decide(w)
		d.DeletePod = d.DeletePod || deletePod
		deletePod = d.DeletePod
		if d.NeedsPod() {
			return withApproval(w), d
		}
		pod := attemptPod{}
		if a := runinfo.Current(&w.Run.Status); a != nil {
			pod = attemptPod{a.Pod, a.PodUID}
		}
		w.Run.Status = enact(w.Run.Status, d, w.Run.Generation, pod, w.Now)
		if d.settled() {
			return withApproval(w), d
		}
	}
}

// Decide returns the next action. The first rule that has an answer wins.
func Decide(w Snapshot) Decision {
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
		planIsReady,
		applyIsDone,
	} {
		if d, ok := r(w); ok {
			return requirementsFirst(w, d)
		}
	}
	return Decision{}
}

// overdue is how long after its timeout an attempt may still report, before its pod is deleted.
const overdue = 15 * time.Minute

// margin is the time before an idle pod exits in which it receives no work, so that it cannot exit with it.
const margin = 2 * time.Second

func isFinished(w Snapshot) (Decision, bool) { return Decision{}, w.Run.Status.Phase.Finished() }

// Unfinished is the current attempt while it is under way.
func Unfinished(w Snapshot) *v1alpha1.Attempt {
	if a := runinfo.Current(&w.Run.Status); a != nil && a.FinishedAt == nil {
		return a
	}
	return nil
}

// applied reports whether the last attempt was an apply that went well.
func applied(w Snapshot) bool {
	a := runinfo.Current(&w.Run.Status)
	return a != nil && a.Phase == v1alpha1.AttemptApply && a.FinishedAt != nil && a.Failure == nil
}

// planIsFinal reports whether the last attempt was a plan after which nothing is to be done: it found no changes, or
// the Run only plans.
func planIsFinal(w Snapshot) bool {
	a, plan := runinfo.Current(&w.Run.Status), w.Run.Status.Plan
	return a != nil && a.Phase == v1alpha1.AttemptPlan && a.FinishedAt != nil && a.Failure == nil && plan != nil &&
		(!plan.Changes || w.Run.Spec.Operation == v1alpha1.OperationPlan)
}

func isQueued(w Snapshot) (Decision, bool) {
	if runinfo.Current(&w.Run.Status) != nil {
		return Decision{}, false
	}
	if w.Older != "" {
		return Decision{Phase: v1alpha1.PhaseQueued, Reason: v1alpha1.ReasonQueued, Message: "waits for Run " +
			w.Older + " to end"}, true
	}
	if runinfo.IsShell(w.Run) {
		return startIn(w, v1alpha1.AttemptShell), true
	}
	return startIn(w, v1alpha1.AttemptPlan), true
}

// start begins an attempt in a new pod, if one may be started now.
func start(w Snapshot, phase v1alpha1.AttemptPhase) Decision {
	at := w.Run.Status.Phase
	if at == "" {
		at = v1alpha1.PhaseQueued
	}
	switch {
	case w.Stack.Spec.Suspend:
		return Decision{Phase: at, Reason: v1alpha1.ReasonSuspended,
			Message: "waits for spec.suspend of the Stack to be false"}
	case w.Missing != "":
		return Decision{Phase: at, Reason: v1alpha1.ReasonInputsNotFound, Message: w.Missing}
	}
	if d, closed := windowCloses(w, phase, at); closed {
		return d
	}
	d := Decision{Begin: phase, Phase: v1alpha1.PhasePlanning, Message: "in pod " +
		runinfo.PodName(w.Run.Name, phase, runinfo.NextNumber(&w.Run.Status))}
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

// planIsReady: the last attempt was a plan that went well.
func planIsReady(w Snapshot) (Decision, bool) {
	a, plan := runinfo.Current(&w.Run.Status), w.Run.Status.Plan
	if a.Phase != v1alpha1.AttemptPlan || plan == nil {
		return Decision{}, false
	}
	switch {
	case !plan.Changes:
		return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonNoChanges, Message: "no changes"}, true
	case w.Run.Spec.Operation == v1alpha1.OperationPlan:
		return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonPlanned, Message: runinfo.Summary(plan)},
			true
	case !approved(w):
		return Decision{Phase: v1alpha1.PhaseAwaitingApproval, Reason: v1alpha1.ReasonAwaitingApproval,
			Message: runinfo.Summary(plan) + approvalHint(w)}, true
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

// windowCloses reports whether the windows of the Stack, or of a StackPolicy, do not let an attempt begin now.
func windowCloses(w Snapshot, phase v1alpha1.AttemptPhase, at v1alpha1.RunPhase) (Decision, bool) {
	windows, err := stackpolicy.Windows(w.Stack, w.StackPolicies)
	if err != nil { // what they were meant to prevent is not known
		return Decision{Phase: at, Reason: v1alpha1.ReasonWindowInvalid, Message: err.Error()}, true
	}
	operation := v1alpha1.OperationPlan
	if phase == v1alpha1.AttemptApply {
		operation = w.Run.Spec.Operation
	}
	closed, why, until := windows.Closed(operation, w.Now)
	d := Decision{Phase: at, Reason: v1alpha1.ReasonWindowClosed, Message: why, OpensAt: until}
	if closed && !until.IsZero() {
		d.RequeueAfter = until.Sub(w.Now)
	}
	return d, closed
}

// podIsIdle reports whether the pod that planned is running, and stays long enough to receive the apply.
func podIsIdle(w Snapshot, a *v1alpha1.Attempt) bool {
	return w.Pod.State == PodRunning && !w.Stack.Spec.Suspend && w.Now.Before(IdleUntil(w.Stack, a).Add(-margin))
}

// IdleUntil is when the pod of an attempt that is over exits unless it receives another order.
func IdleUntil(stack *v1alpha1.Stack, a *v1alpha1.Attempt) time.Time {
	return a.FinishedAt.Add(stack.Spec.Runner.IdleTimeout.Duration)
}

func applyIsDone(w Snapshot) (Decision, bool) {
	if !applied(w) {
		return Decision{}, false
	}
	reason := v1alpha1.ReasonApplied
	if w.Run.Spec.Operation == v1alpha1.OperationDestroy {
		reason = v1alpha1.ReasonDestroyed
	}
	return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: reason, Message: runinfo.Applied(w.Run.Status.Plan)}, true
}
