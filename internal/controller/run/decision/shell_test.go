package decision

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/runtest"
)

func shell(w *Snapshot) {
	w.Run.Spec.Operation = v1alpha1.OperationShell
	byHand(w)
}

func inShell(w *Snapshot) {
	runtest.InShell(w.Run)
	w.Pod.State = PodRunning
}

func left(w *Snapshot) {
	inShell(w)
	w.Run.Status.Attempts[0].FinishedAt = micro(now)
	w.Run.Status.Attempts[0].Steps = []v1alpha1.Step{{Name: "shell", State: v1alpha1.StepSucceeded,
		Message: "left with exit code 0 after 3m"}}
}

func canceledByBob(w *Snapshot) { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }

func TestShells(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a shell is opened": {snapshot: snapshot(shell), phase: "Shell",
			begin: "Shell 1", reason: "Shell", message: "in pod net-7-shell-1"},
		"it waits for the Run before it": {snapshot: snapshot(shell, func(w *Snapshot) {
			w.Older = "net-6"
		}), phase: "Queued", reason: "Queued", message: "net-6"},
		"it waits while the Stack is suspended": {snapshot: snapshot(shell, suspended), phase: "Queued",
			reason: "Suspended"},
		"a window for plans holds it as any Run": {snapshot: snapshot(shell, closed("Plan")), phase: "Queued",
			reason: "WindowClosed", requeue: time.Hour},
		"one that is not open yet is not opened on others": {snapshot: snapshot(shell, changed), phase: "Superseded",
			reason: "Superseded", message: "the inputs changed"},

		"a change does not end it": {snapshot: snapshot(inShell, changed), phase: "Shell",
			reason: "Shell", requeue: underWay},
		"a change does not end a starting one": {snapshot: snapshot(inShell, changed, pod(PodPending)),
			phase: "Shell", reason: "PodPending", requeue: underWay},
		"a request for an apply does not end it": {snapshot: snapshot(inShell, asked("Apply")),
			phase: "Shell", reason: "Shell", requeue: underWay},
		"the deletion of its Stack ends it": {snapshot: snapshot(inShell, deleting), phase: "Shell",
			reason: "Canceling", message: "the Stack is being deleted; the shell in pod net-7-shell-1 is ended",
			delete: true},
		"a terminating one is not deleted again": {
			snapshot: snapshot(inShell, deleting, pod(PodTerminating)), phase: "Shell", reason: "Canceling"},
		"a deleted Stack ends it": {snapshot: snapshot(inShell, stackGone), phase: "Shell",
			reason: "Canceling", delete: true},
		"a canceled one reports what it waits for": {snapshot: snapshot(inShell, canceledByBob),
			phase: "Shell", reason: "Canceling", message: "canceled by bob; the shell in pod net-7-shell-1 is ended",
			requeue: underWay},
		"a pod that has not started may hold the lock soon": {snapshot: snapshot(inShell, canceledByBob,
			pod(PodPending)), phase: "Shell", reason: "Canceling", message: "is deleted and has not ended yet",
			delete: true},

		"who leaves ends it": {snapshot: snapshot(left), phase: "Succeeded",
			reason: "ShellEnded", message: "left with exit code 0 after 3m"},
		"one that ended is not canceled": {snapshot: snapshot(left, canceledByBob, changed,
			deleting), phase: "Succeeded", reason: "ShellEnded"},
		"one that was canceled is Canceled": {snapshot: snapshot(inShell, canceledByBob,
			failed(v1alpha1.FailureCanceled)), phase: "Canceled", reason: "Canceled", message: "canceled by bob"},
		"a canceled one whose pod sent no report is Canceled": {snapshot: snapshot(inShell, canceledByBob,
			pod(PodGone)), phase: "Canceled", reason: "Canceled", message: "canceled by bob"},
		"one whose Stack was deleted is Canceled": {
			snapshot: snapshot(inShell, deleting, failed(v1alpha1.FailureTransient)), phase: "Canceled",
			reason: "Canceled", message: "the Stack is being deleted"},
		"one that was not made ready is not tried again": {
			snapshot: snapshot(inShell, failed(v1alpha1.FailureTransient)), phase: "Failed", reason: "Transient",
			message: "shell: boom"},
		"one whose pod was lost is not retried": {snapshot: snapshot(inShell, pod(PodGone)), phase: "Failed",
			reason: "PodLost"},
		"a lost state is reported, even when canceled": {snapshot: snapshot(inShell, canceledByBob,
			failed(v1alpha1.FailureStateNotSaved)), phase: "Failed", reason: "StateNotSaved", message: "boom"},

		"a shell does not replace a Run that waits": {snapshot: snapshot(waiting, asked("Shell")),
			phase: "AwaitingApproval", reason: "AwaitingApproval"},
		"a plan does not replace a shell": {snapshot: snapshot(shell, asked("Plan")), phase: "Shell", begin: "Shell 1",
			reason: "Shell"},
	})
}
