package decision

import (
	"cmp"
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for an attempt that is under way: what is observed of its pod.

func podIsLost(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil || (w.Pod.State != PodGone && w.Pod.State != PodEnded) {
		return Decision{}, false
	}
	if w.Pod.Stranded {
		return Decision{End: &v1alpha1.Failure{
			Class: v1alpha1.FailureStateNotSaved,
			Message: fmt.Sprintf(
				"the state could be neither written nor rescued: it is in the log of pod %s, encrypted", a.Pod),
		}}, true
	}
	lost := &v1alpha1.Failure{
		Class:   cmp.Or(w.Pod.Class, v1alpha1.FailurePodLost),
		Message: fmt.Sprintf("pod %s %s before it reported", a.Pod, w.Pod.Message),
	}
	if w.Pod.State == PodGone {
		lost.Reason = v1alpha1.FailurePodVanished
	}
	if detail := cmp.Or(w.Pod.Detail, lastPodMessage(w.Run, a.Pod)); detail != "" {
		lost.Message += ": " + runinfo.Clip(detail, maxDetail)
	}
	if w.Run.Spec.Cancel && (changesNothing(a) || len(a.Steps) == 0) { // as was asked for
		lost.Class = v1alpha1.FailureCanceled
	}
	return Decision{End: lost}, true
}

func podCannotStart(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil || w.Pod.State != PodPending || w.Pod.Patience == 0 || reports(w.Run, a) ||
		w.Now.Before(a.StartedAt.Add(w.Pod.Patience)) {
		return Decision{}, false
	}
	failure := &v1alpha1.Failure{
		Class:  w.Pod.Class,
		Reason: w.Pod.Reason,
		Message: fmt.Sprintf("pod %s cannot start: %s", a.Pod, runinfo.Clip(cmp.Or(w.Pod.Message, w.Pod.Quiet),
			maxDetail)),
	}
	if failure.Class != v1alpha1.FailureConfigurationError {
		failure.Message += fmt.Sprintf("; given up after %s", shorten.Duration(w.Pod.Patience))
	}
	return Decision{DeletePod: true, End: failure}, true
}

// podIsTooLate: what a pod would plan that has not started is no longer wanted. A drift check ends also in the middle,
// since a user waits for the change that came meanwhile. So does every plan and build of a Stack that is being deleted:
// the destroy needs nothing of it, and must not wait for an engine that hangs. An apply is never ended here.
func podIsTooLate(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	ends := w.Pod.State == PodPending || (w.Pod.State == PodRunning && runinfo.IsDriftCheck(w.Run)) ||
		(w.Stack != nil && w.Stack.DeletionTimestamp != nil)
	if a == nil || !changesNothing(a) || !ends {
		return Decision{}, false
	}
	if why := staleness(w); why != "" {
		return Decision{DeletePod: true, End: &v1alpha1.Failure{
			Class: v1alpha1.FailureTransient, Message: fmt.Sprintf("pod %s is not needed any more: %s", a.Pod, why),
		}}, true
	}
	return Decision{}, false
}

func attemptIsOverdue(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil || w.Stack == nil || w.Now.Before(a.StartedAt.Add(w.Stack.Spec.Timeout.Duration+overdue)) {
		return Decision{}, false
	}
	d := Decision{
		DeletePod: w.Pod.State != PodTerminating,
		Reason:    v1alpha1.ReasonTimeoutExceeded,
		Message: fmt.Sprintf("pod %s did not end at the timeout of %s and is deleted; where the work needs longer, "+
			"raise spec.timeout of Stack %s",
			a.Pod, shorten.Duration(w.Stack.Spec.Timeout.Duration), w.Stack.Name),
		RequeueAfter: time.Minute,
	}
	if since, silent := silence(w); silent { // that it is deleted changes nothing
		d.Reason, d.Message = v1alpha1.ReasonNodeUnreachable, unreachableMessage(w, a, since)
	}
	return d, true
}

func attemptIsUnderWay(w Snapshot) (Decision, bool) {
	a := Unfinished(w)
	if a == nil {
		return Decision{}, false
	}
	d := Decision{Reason: reasonAt(w.Run.Status.Phase, a.Phase), Message: "in pod " + a.Pod}
	reason, message, again := describePod(w, a)
	if reason != "" {
		d.Reason, d.Message = reason, message
	}
	if w.Run.Spec.Cancel {
		d.Reason, d.Message = v1alpha1.ReasonCanceling, cancelingMessage(w, a)
	}
	if w.Stack != nil {
		if late := a.StartedAt.Add(w.Stack.Spec.Timeout.Duration + overdue); again.IsZero() || late.Before(again) {
			again = late
		}
	}
	if !again.IsZero() {
		d.RequeueAfter = again.Sub(w.Now)
	}
	return d, true
}

// maxDetail is the maximum length of a quoted message in the message of a failure.
const maxDetail = 1024

// interruptIsExplained: an interrupted runner does not know the cause. Where the cause was unknown when it reported,
// the node may have reported it since.
func interruptIsExplained(w Snapshot) (Decision, bool) {
	a := runinfo.Current(&w.Run.Status)
	if a == nil || a.Failure == nil || a.Failure.Reason != v1alpha1.FailureInterrupted || w.Pod.State != PodEnded ||
		w.Pod.Detail == "" {
		return Decision{}, false
	}
	return Decision{Explain: Interrupted(a, w.Pod.Message+": "+runinfo.Clip(w.Pod.Detail, maxDetail))}, true
}

// Interrupted is the failure of an attempt whose runner was interrupted. why is the cause of the end of its pod, in
// words that follow its name; empty when only its node knows.
func Interrupted(a *v1alpha1.Attempt, why string) *v1alpha1.Failure {
	f := &v1alpha1.Failure{Class: a.Failure.Class, Reason: v1alpha1.FailurePodTerminated}
	if why == "" {
		f.Reason, why = v1alpha1.FailureInterrupted, "was terminated by its node"
	}
	f.Message = fmt.Sprintf("interrupted: pod %s %s", a.Pod, why)
	return f
}
