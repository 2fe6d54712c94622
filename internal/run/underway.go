package run

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// The rules for an attempt that is under way: what its pod tells.

func podIsLost(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || (w.Pod.State != PodGone && w.Pod.State != PodEnded) {
		return Decision{}, false
	}
	if w.Pod.Stranded {
		return Decision{End: &v1alpha1.Failure{
			Class:   v1alpha1.FailureStateNotSaved,
			Message: fmt.Sprintf("the state could be neither written nor rescued: it is in the log of pod %s, encrypted", a.Pod),
		}}, true
	}
	lost := &v1alpha1.Failure{
		Class:   cmp.Or(w.Pod.Class, v1alpha1.FailurePodLost),
		Message: lostWith(a, w.Pod.Message),
	}
	if detail := cmp.Or(w.Pod.Detail, lastWords(w.Run, a.Pod)); detail != "" {
		lost.Message += ": " + runinfo.Clip(detail, longestDetail)
	}
	if w.Run.Spec.Cancel && (changesNothing(a) || len(a.Steps) == 0) { // as was asked for
		lost.Class = v1alpha1.FailureCanceled
	}
	return Decision{End: lost}, true
}

// lostWith words that an attempt was lost with its pod.
func lostWith(a *v1alpha1.Attempt, how string) string {
	return fmt.Sprintf("pod %s %s before it reported", a.Pod, how)
}

func podCannotStart(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || w.Pod.State != PodPending || w.Pod.Patience == 0 || reports(w.Run, a) || w.Now.Before(a.StartedAt.Add(w.Pod.Patience)) {
		return Decision{}, false
	}
	failure := &v1alpha1.Failure{
		Class:   w.Pod.Class,
		Message: fmt.Sprintf("pod %s cannot start: %s", a.Pod, runinfo.Clip(cmp.Or(w.Pod.Message, w.Pod.Quiet), longestDetail)),
	}
	if failure.Class != v1alpha1.FailureConfigurationError {
		failure.Message += fmt.Sprintf("; given up after %s", short(w.Pod.Patience))
	}
	return Decision{DeletePod: true, End: failure}, true
}

// podIsTooLate: what a pod would plan that has not started is no longer wanted. A drift check ends also in the middle, since a user
// waits for the change that came meanwhile. So does every plan and build of a Stack that is being deleted: the destroy needs nothing
// of it, and must not wait for an engine that hangs. An apply is never ended here.
func podIsTooLate(w World) (Decision, bool) {
	a := unfinished(w)
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

func attemptIsOverdue(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil || w.Stack == nil || w.Now.Before(a.StartedAt.Add(w.Stack.Spec.Timeout.Duration+overdue)) {
		return Decision{}, false
	}
	d := Decision{
		DeletePod: w.Pod.State != PodTerminating,
		Reason:    v1alpha1.ReasonTimeoutExceeded,
		Message: fmt.Sprintf("pod %s did not end at the timeout of %s and is deleted; where the work needs longer, raise spec.timeout of Stack %s",
			a.Pod, short(w.Stack.Spec.Timeout.Duration), w.Stack.Name),
		RequeueAfter: time.Minute,
	}
	if since, silent := silence(w); silent { // that it is deleted changes nothing
		d.Reason, d.Message = v1alpha1.ReasonNodeUnreachable, unreachable(w, a, since)
	}
	return d, true
}

func attemptIsUnderWay(w World) (Decision, bool) {
	a := unfinished(w)
	if a == nil {
		return Decision{}, false
	}
	d := Decision{Reason: reasonAt(w.Run.Status.Phase, a.Phase), Message: "in pod " + a.Pod}
	reason, message, again := podSays(w, a)
	if reason != "" {
		d.Reason, d.Message = reason, message
	}
	if w.Run.Spec.Cancel {
		d.Reason, d.Message = v1alpha1.ReasonCanceling, canceling(w, a)
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

// longestDetail is how much of what others say goes into a failure's message.
const longestDetail = 1024

// short writes a duration as people do: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// interruptIsExplained: a runner that was told to end knows only that. When nothing else could tell why when it reported, its
// node may by now.
func interruptIsExplained(w World) (Decision, bool) {
	a := current(&w.Run.Status)
	if a == nil || a.Failure == nil || w.Pod.State != PodEnded || w.Pod.Detail == "" || a.Failure.Message != interruptedBy(a, endedByNode) {
		return Decision{}, false
	}
	return Decision{Explain: interruptedBy(a, w.Pod.Message+": "+runinfo.Clip(w.Pod.Detail, longestDetail))}, true
}

// endedByNode is all that is known of a pod that has to end and that nobody deleted.
const endedByNode = "was told to end by its node"

// interruptedBy words why a runner was told to end.
func interruptedBy(a *v1alpha1.Attempt, why string) string {
	return fmt.Sprintf("%s: pod %s %s", runnerapi.Interrupted, a.Pod, why)
}
