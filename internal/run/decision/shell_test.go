package decision

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runtest"
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
	w.Run.Status.Attempts[0].Steps = []v1alpha1.Step{{Name: "shell", State: v1alpha1.StepSucceeded, Message: "left with exit code 0 after 3m"}}
}

func canceledByBob(w *Snapshot) { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }

func TestShells(t *testing.T) {
	const underWay = time.Hour + overdue
	settle(t, map[string]settled{
		"a shell is opened":                                 {world: world(shell), phase: "Shell", begin: "Shell 1", reason: "Shell", message: "in pod net-7-shell-1"},
		"it waits for the Run before it":                    {world: world(shell, func(w *Snapshot) { w.Older = "net-6" }), phase: "Queued", reason: "Queued", message: "net-6"},
		"it waits while the Stack is suspended":             {world: world(shell, suspended), phase: "Queued", reason: "Suspended"},
		"a window for plans holds it as any Run":            {world: world(shell, closed("Plan")), phase: "Queued", reason: "WindowClosed", requeue: time.Hour},
		"one that nobody is in yet is not opened on others": {world: world(shell, changed), phase: "Superseded", reason: "Superseded", message: "the inputs changed"},

		"a change does not end it":                          {world: world(inShell, changed), phase: "Shell", reason: "Shell", requeue: underWay},
		"nor while its pod starts":                          {world: world(inShell, changed, pod(PodPending)), phase: "Shell", reason: "PodPending", requeue: underWay},
		"nor does who asks for an apply":                    {world: world(inShell, asked("Apply")), phase: "Shell", reason: "Shell", requeue: underWay},
		"that its Stack is deleted does":                    {world: world(inShell, deleting), phase: "Shell", reason: "Canceling", message: "the Stack is being deleted; the shell in pod net-7-shell-1 is ended", delete: true},
		"once":                                              {world: world(inShell, deleting, pod(PodTerminating)), phase: "Shell", reason: "Canceling"},
		"and that it is gone":                               {world: world(inShell, stackGone), phase: "Shell", reason: "Canceling", delete: true},
		"who cancels it is told what is waited for":         {world: world(inShell, canceledByBob), phase: "Shell", reason: "Canceling", message: "canceled by bob; the shell in pod net-7-shell-1 is ended", requeue: underWay},
		"a pod that has not started may hold the lock soon": {world: world(inShell, canceledByBob, pod(PodPending)), phase: "Shell", reason: "Canceling", message: "is deleted and has not ended yet", delete: true},

		"who leaves ends it":                             {world: world(left), phase: "Succeeded", reason: "ShellEnded", message: "left with exit code 0 after 3m"},
		"and nothing else does then":                     {world: world(left, canceledByBob, changed, deleting), phase: "Succeeded", reason: "ShellEnded"},
		"one that was canceled is Canceled":              {world: world(inShell, canceledByBob, failed(v1alpha1.FailureCanceled)), phase: "Canceled", reason: "Canceled", message: "canceled by bob"},
		"also when its pod ended without a word":         {world: world(inShell, canceledByBob, pod(PodGone)), phase: "Canceled", reason: "Canceled", message: "canceled by bob"},
		"one whose Stack was deleted is Canceled":        {world: world(inShell, deleting, failed(v1alpha1.FailureTransient)), phase: "Canceled", reason: "Canceled", message: "the Stack is being deleted"},
		"one that was not made ready is not tried again": {world: world(inShell, failed(v1alpha1.FailureTransient)), phase: "Failed", reason: "Transient", message: "shell: boom"},
		"nor one whose pod was lost":                     {world: world(inShell, pod(PodGone)), phase: "Failed", reason: "PodLost"},
		"a state that is lost is told, whoever canceled": {world: world(inShell, canceledByBob, failed(v1alpha1.FailureStateNotSaved)), phase: "Failed", reason: "StateNotSaved", message: "boom"},

		"a shell takes the place of nobody who waits":  {world: world(waiting, asked("Shell")), phase: "AwaitingApproval", reason: "AwaitingApproval"},
		"who only looks does not take that of a shell": {world: world(shell, asked("Plan")), phase: "Shell", begin: "Shell 1", reason: "Shell"},
	})
}
