package decision

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for a Run that is canceled, or whose plan is rejected. An engine at work is never killed for it: its runner
// receives an order to interrupt it and to report. An apply is over when its pod is known to be gone or has reported,
// and not before, since what it creates until then has to get into the state.
//
//	             nothing at work            plan's pod pending        any pod at work
//	cancel ──┬──────────────────► Canceled ◄────────────────┬──────────────────► Canceling ──► report ──► Canceled,
//	         │                                 deleted      │                        ▲                    or what the
//	         └───────────────────────────────────────────── apply's pod pending ────┘                    report says
//	                                                          deleted, and known gone

// cancelComesEarly: the pod has not started, and need not.
func cancelComesEarly(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil || !w.Run.Spec.Cancel || w.Pod.State != PodPending || reports(w.Run, a) {
		return Decision{}, false
	}
	if changesNothing(a) {
		return Decision{DeletePod: true, End: &v1alpha1.Failure{Class: v1alpha1.FailureCanceled,
			Message: canceledBy(w.Run)}}, true
	}
	// It may have started since, and hold the lock by now: only its end ends the attempt.
	return Decision{DeletePod: true, Reason: v1alpha1.ReasonCanceling, Message: cancelingMessage(w, a)}, true
}

// reports reports whether the pod of an apply has started, whatever the cache has: it has sent a report.
func reports(run *v1alpha1.Run, a *v1alpha1.Attempt) bool {
	return runinfo.IsApply(*a) && runinfo.HasReported(run, a)
}

// isCanceled: nothing is at work. What is done stays done, and a failure is reported rather than the cancel.
func isCanceled(w Snapshot) (Decision, bool) {
	var class v1alpha1.FailureClass
	if a := runinfo.Current(&w.Run.Status); a != nil && a.Failure != nil {
		class = a.Failure.Class
	}
	asked := w.Run.Spec.Cancel && !applied(w) && !planIsFinal(w) && !isFinal(class)
	if !asked && class != v1alpha1.FailureCanceled {
		return Decision{}, false
	}
	return Decision{Phase: v1alpha1.PhaseCanceled, Reason: v1alpha1.ReasonCanceled, Message: canceledMessage(w)}, true
}

// isRejected: the plan that waits is not wanted, whether it was approved or not.
func isRejected(w Snapshot) (Decision, bool) {
	a, plan, no := runinfo.Current(&w.Run.Status), w.Run.Status.Plan, w.Run.Spec.Rejection
	if no == nil || plan == nil || a == nil || plan.Digest != no.PlanDigest || a.Phase != v1alpha1.AttemptPlan ||
		a.Failure != nil || planIsFinal(w) {
		return Decision{}, false
	}
	d := Decision{Phase: v1alpha1.PhaseCanceled, Reason: v1alpha1.ReasonRejected,
		Message: runinfo.DoneBy("rejected", no.By)}
	if no.Reason != "" {
		d.Message += ": " + no.Reason
	}
	return d, true
}

// InterruptReason returns why the Run's attempt is to stop; empty when it is not.
func InterruptReason(run *v1alpha1.Run) string {
	if !run.Spec.Cancel || run.Status.Phase.Finished() {
		return ""
	}
	return canceledBy(run)
}

// canceledBy words who cancels the Run.
func canceledBy(run *v1alpha1.Run) string { return runinfo.DoneBy("canceled", run.Spec.CanceledBy) }

// cancelingMessage returns what is waited for before a Run that was canceled ends.
func cancelingMessage(w Snapshot, a *v1alpha1.Attempt) string {
	since, silent := silence(w)
	switch {
	case silent:
		return canceledBy(w.Run) + "; " + unreachableMessage(w, a, since)
	case w.Pod.State == PodPending && !reports(w.Run, a), w.Pod.State == PodTerminating:
		return fmt.Sprintf("%s; pod %s is deleted and has not ended yet", canceledBy(w.Run), a.Pod)
	case a.Phase == v1alpha1.AttemptShell:
		return fmt.Sprintf("%s; the shell in pod %s is ended, and an engine at work in it saves the state first",
			canceledBy(w.Run), a.Pod)
	case a.Phase == v1alpha1.AttemptApply:
		return fmt.Sprintf("%s; the engine in pod %s ends what it has in flight and saves the state", canceledBy(w.Run),
			a.Pod)
	}
	if a.Phase == v1alpha1.AttemptBuild {
		return fmt.Sprintf("%s; the build in pod %s is interrupted", canceledBy(w.Run), a.Pod)
	}
	return fmt.Sprintf("%s; the plan in pod %s is interrupted", canceledBy(w.Run), a.Pod)
}

// canceledMessage returns who canceled the Run, and what is half done.
func canceledMessage(w Snapshot) string {
	text, a := canceledBy(w.Run), runinfo.Current(&w.Run.Status)
	if !w.Run.Spec.Cancel { // the report came before the news of it
		text = a.Failure.Message
	}
	if !runinfo.Began(w.Run) {
		if a != nil && runinfo.IsApply(*a) {
			text += fmt.Sprintf(" before the %s began", operationName(w.Run))
		}
		if a != nil && a.Failure != nil && a.Failure.Class != v1alpha1.FailureCanceled {
			text += fmt.Sprintf(" after %s: %s", failedStep(a), a.Failure.Message)
		}
		return text
	}
	last, plan := lastApply(w.Run), w.Run.Status.Plan
	if last != a {
		plan = nil // it may be a newer one
	}
	switch {
	case last.Changed != nil:
		text += fmt.Sprintf(" in the middle of the %s: %s in the state", operationName(w.Run),
			count(*last.Changed, plan))
	case last.Failure.Class != v1alpha1.FailureCanceled:
		text += fmt.Sprintf(" after %s: %s", failedStep(last), last.Failure.Message)
	case len(last.Steps) == 0:
		text += fmt.Sprintf(", and pod %s ended before it reported anything", last.Pod)
	default:
		text += " in the middle of the " + operationName(w.Run)
	}
	return text + "; " + continueHint(w.Run)
}

// continueHint is the command that continues what a Run has left half done.
func continueHint(run *v1alpha1.Run) string {
	command := "apply"
	if run.Spec.Operation == v1alpha1.OperationDestroy {
		command = "retry"
	}
	return fmt.Sprintf("cairn %s %s continues", command, run.Spec.Stack.Name)
}

func operationName(run *v1alpha1.Run) string {
	if run.Spec.Operation == v1alpha1.OperationDestroy {
		return "destroy"
	}
	return "apply"
}

// lastApply is the newest attempt that may have changed resources; there is one.
func lastApply(run *v1alpha1.Run) *v1alpha1.Attempt {
	i := len(run.Status.Attempts) - 1
	for !runinfo.Changes(run.Status.Attempts[i]) {
		i--
	}
	return &run.Status.Attempts[i]
}

// count words what an apply has done of its plan, as in "7 of 20 changes were applied and are". What it takes into the
// state, or out of it, is not changed by that.
func count(n int32, p *v1alpha1.Plan) string {
	of, all := "", n
	if p != nil && n <= runinfo.Counts(p).Changed() {
		all = runinfo.Counts(p).Changed()
		of = fmt.Sprintf(" of %d", all)
	}
	if all == 1 {
		return fmt.Sprintf("%d%s change was applied and is", n, of)
	}
	return fmt.Sprintf("%d%s changes were applied and are", n, of)
}
