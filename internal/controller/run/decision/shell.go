package decision

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for a Run that holds a shell. It has one attempt: no user waits at a terminal for a second one. What
// changes meanwhile does not end it, since a user is at work in it; the deletion of the Stack does.
//
//	Queued ─► Shell ─┬─► left, or its time is over ─► Succeeded
//	                 ├─► canceled, or the Stack is deleted ─► Canceled
//	                 └─► not made ready, lost, or its state is stranded ─► Failed

// noStack is why a shell ends with its Stack.
const noStack = "the Stack is being deleted"

// shellHasNoStack interrupts the pod. As ever it ends what holds the state before it reports.
func shellHasNoStack(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil || !runinfo.IsShell(w.Run) || (w.Stack != nil && w.Stack.DeletionTimestamp == nil) {
		return Decision{}, false
	}
	return Decision{DeletePod: w.Pod.State != PodTerminating, Reason: v1alpha1.ReasonCanceling,
		Message: fmt.Sprintf("%s; the shell in pod %s is ended", noStack, a.Pod)}, true
}

// shellIsOver: its one attempt has ended.
func shellIsOver(w Snapshot) (Decision, bool) {
	a := runinfo.Current(&w.Run.Status)
	if a == nil || !runinfo.IsShell(w.Run) ||
		(a.Phase == v1alpha1.AttemptBuild && a.Failure == nil && !w.Run.Spec.Cancel) {
		return Decision{}, false
	}
	if a.Failure == nil && a.Phase != v1alpha1.AttemptBuild {
		return Decision{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonShellEnded,
			Message: shellEndedMessage(a)}, true
	}
	class := v1alpha1.FailureCanceled
	if a.Failure != nil {
		class = a.Failure.Class
	}
	switch {
	case isFinal(class):
	case w.Run.Spec.Cancel, class == v1alpha1.FailureCanceled:
		return Decision{Phase: v1alpha1.PhaseCanceled, Reason: v1alpha1.ReasonCanceled, Message: canceledMessage(w)},
			true
	case w.Stack == nil, w.Stack.DeletionTimestamp != nil:
		return Decision{Phase: v1alpha1.PhaseCanceled, Reason: v1alpha1.ReasonCanceled, Message: noStack}, true
	}
	return Decision{Phase: v1alpha1.PhaseFailed, Reason: string(a.Failure.Class),
		Message: fmt.Sprintf("%s: %s", failedStep(a), a.Failure.Message)}, true
}

// shellEndedMessage is the message of the runner: only the runner knows who ended the shell.
func shellEndedMessage(a *v1alpha1.Attempt) string {
	for _, s := range a.Steps {
		if s.Name == "shell" && s.Message != "" {
			return s.Message
		}
	}
	return "the shell ended"
}
