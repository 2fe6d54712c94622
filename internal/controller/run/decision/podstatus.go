package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// A pod that is to end, and one whose node is silent. Of neither is it known that it has ended, so all that follows
// from its end waits: the next attempt, and the lock. A node that is gone never reports it. Then the pod's object goes
// at last: with the Node's, by the taint out-of-service, or by force, which are three ways of declaring that the
// machine is off.
//
//	Running ──► Leaving ─────────────► Ended ──► what follows
//	   │           │  its node says so   ▲          ▲
//	   │           └─► silent ───────────┘          │
//	   └─────────────► silent ─────────────────► Gone

// quietFor is how long a pod that starts slowly has no message.
const quietFor = time.Minute

// silentAfter is how long after its time a pod that is to end may run before its node is taken for silent.
const silentAfter = time.Minute

// silence returns since when the node of an attempt's pod is silent.
func silence(w Snapshot) (since time.Time, silent bool) {
	p := w.Pod
	switch {
	case !p.SilentSince.IsZero():
		return p.SilentSince, true
	case p.State == PodTerminating && !p.Until.IsZero() && !w.Now.Before(p.Until.Add(silentAfter)):
		return p.Until, true
	}
	return time.Time{}, false
}

// describePod returns the reason and message for a pod that does not simply run, and when to check again.
func describePod(w Snapshot, a *v1alpha1.Attempt) (reason, message string, again time.Time) {
	p, created := w.Pod, a.StartedAt.Time
	since, silent := silence(w)
	switch {
	case silent:
		return v1alpha1.ReasonNodeUnreachable, unreachableMessage(w, a, since), time.Time{}
	case p.State == PodTerminating && p.Until.IsZero():
		return v1alpha1.ReasonPodTerminating, terminatingMessage(w, a), time.Time{}
	case p.State == PodTerminating:
		return v1alpha1.ReasonPodTerminating, terminatingMessage(w, a), p.Until.Add(silentAfter)
	case p.State != PodPending || reports(w.Run, a):
		return "", "", time.Time{}
	case p.Message != "":
		return v1alpha1.ReasonPodPending, fmt.Sprintf("pod %s: %s", a.Pod, p.Message), givesUp(p, created)
	case p.Quiet != "" && w.Now.Before(created.Add(quietFor)):
		return "", "", created.Add(quietFor)
	case p.Quiet != "":
		return v1alpha1.ReasonPodPending, fmt.Sprintf("pod %s: %s", a.Pod, p.Quiet), givesUp(p, created)
	}
	return "", "", givesUp(p, created)
}

// givesUp is when a pending pod has waited long enough; zero is never.
func givesUp(p Pod, created time.Time) time.Time {
	if p.Patience == 0 {
		return time.Time{}
	}
	return created.Add(p.Patience)
}

func terminatingMessage(w Snapshot, a *v1alpha1.Attempt) string {
	text := fmt.Sprintf("pod %s %s", a.Pod, w.Pod.Message)
	if w.Pod.Detail != "" {
		text += fmt.Sprintf(" (%s)", w.Pod.Detail)
	}
	if w.Pod.EndUnconfirmed {
		return fmt.Sprintf("%s, and node %s does not report that its containers have ended: it may still be at work, "+
			"so nothing else is begun. When you know that they have, kubectl delete pod %s", text, w.Pod.Node, a.Pod)
	}
	if w.Pod.Until.IsZero() {
		return text + " and has not ended yet"
	}
	return text + fmt.Sprintf(" and has until %s to end", w.Pod.Until.UTC().Format(time.TimeOnly+"Z07:00"))
}

// unreachableMessage explains that the state of a pod is unknown, and what a user can do.
func unreachableMessage(w Snapshot, a *v1alpha1.Attempt, since time.Time) string {
	text := fmt.Sprintf("node %s does not answer since %s", w.Pod.Node, since.UTC().Format(time.DateTime+"Z07:00"))
	if w.Pod.State == PodTerminating && w.Pod.SilentSince.IsZero() {
		text = fmt.Sprintf("node %s does not report that pod %s has ended, which it had to by %s", w.Pod.Node, a.Pod,
			since.UTC().Format(time.DateTime+"Z07:00"))
	}
	held := "nothing else is begun"
	if !changesNothing(a) {
		held += ", and the state stays locked"
	}
	return fmt.Sprintf("%s: pod %s may still be at work, so %s. When the machine is known to be off, delete Node %s, "+
		"or taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or kubectl delete pod %s --force", text,
		a.Pod, held, w.Pod.Node, a.Pod)
}

// lastPodMessage is the last message of the Run about a pod that is gone by now.
func lastPodMessage(run *v1alpha1.Run, pod string) string {
	for _, c := range run.Status.Conditions {
		describesPod := c.Reason == v1alpha1.ReasonPodTerminating || c.Reason == v1alpha1.ReasonNodeUnreachable
		if c.Type == v1alpha1.ConditionSucceeded && describesPod && slices.Contains(strings.Fields(c.Message), pod) {
			text, _, _ := strings.Cut(c.Message, ". When ")
			return text
		}
	}
	return ""
}
