package run

import (
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// The rules for an attempt that is under way: what its pod tells.

func podIsLost(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || (w.Pod.State != PodGone && w.Pod.State != PodEnded) {
		return Decision{}, false
	}
	if w.Pod.Stranded {
		return Decision{End: &v1alpha1.Failure{
			Class:   v1alpha1.FailureStranded,
			Message: fmt.Sprintf("the state could be neither written nor rescued: it is in the log of pod %s, encrypted", a.Pod),
		}}, true
	}
	lost := &v1alpha1.Failure{Class: v1alpha1.FailureLost, Message: fmt.Sprintf("pod %s: %s before it reported", a.Pod, w.Pod.Message)}
	if w.Run.Spec.Cancel && (a.Phase == v1alpha1.AttemptPlan || len(a.Steps) == 0) { // as was asked for
		lost.Class = v1alpha1.FailureCanceled
	}
	return Decision{End: lost}, true
}

func podCannotStart(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || w.Pod.State != PodPending || !w.Pod.Broken || reports(w.Run, a) || w.Now.Before(a.StartedAt.Add(brokenFor)) {
		return Decision{}, false
	}
	return Decision{DeletePod: true, End: &v1alpha1.Failure{
		Class:   v1alpha1.FailureConfig,
		Message: fmt.Sprintf("pod %s cannot start: %s", a.Pod, w.Pod.Message),
	}}, true
}

// podIsTooLate: what a pod would plan that has not started is no longer wanted. A drift check only looks, so that one is
// ended also in the middle: somebody waits for the change that came meanwhile.
func podIsTooLate(w World) (Decision, bool) {
	a := unfinished(w)
	early := w.Pod.State == PodPending || (w.Pod.State == PodRunning && IsDriftCheck(w.Run))
	if a == nil || a.Phase != v1alpha1.AttemptPlan || !early {
		return Decision{}, false
	}
	if why := staleness(w); why != "" {
		return Decision{DeletePod: true, End: &v1alpha1.Failure{
			Class: v1alpha1.FailureTransient, Message: fmt.Sprintf("pod %s is not needed any more: %s", a.Pod, why),
		}}, true
	}
	return Decision{}, false
}

func attemptIsOverdue(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || w.Stack == nil || w.Now.Before(a.StartedAt.Add(w.Stack.Spec.Timeout.Duration+overdue)) {
		return Decision{}, false
	}
	return Decision{
		DeletePod:    true,
		Reason:       ReasonOverdue,
		Message:      fmt.Sprintf("pod %s is long past the timeout of %s and is deleted", a.Pod, w.Stack.Spec.Timeout.Duration),
		RequeueAfter: time.Minute,
	}, true
}

func attemptIsUnderWay(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil {
		return Decision{}, false
	}
	d := Decision{Reason: string(w.Run.Status.Phase), Message: "in pod " + a.Pod}
	switch {
	case w.Run.Spec.Cancel:
		d.Reason, d.Message = ReasonCanceling, canceling(w, a)
	case w.Pod.State == PodPending && w.Pod.Message != "":
		d.Reason, d.Message = ReasonPodPending, fmt.Sprintf("pod %s: %s", a.Pod, w.Pod.Message)
	}
	switch {
	case w.Pod.Broken && !reports(w.Run, a):
		d.RequeueAfter = a.StartedAt.Add(brokenFor).Sub(w.Now)
	case w.Stack != nil:
		d.RequeueAfter = a.StartedAt.Add(w.Stack.Spec.Timeout.Duration + overdue).Sub(w.Now)
	}
	return d, true
}
