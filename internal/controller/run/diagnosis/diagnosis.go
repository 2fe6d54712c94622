// Package diagnosis reads from a pod what became of it: why it does not start, why it has to end, how it ended. It is
// pure.
package diagnosis

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Observe reads the state of a pod from its object; gone: the API server has none of that UID; reported: its runner
// has sent a report.
func Observe(pod *corev1.Pod, gone, reported bool) decision.Pod {
	p := observe(pod, gone, reported)
	if !gone && pod != nil {
		p.Image = Image(pod)
	}
	return p
}

func observe(pod *corev1.Pod, gone, reported bool) decision.Pod {
	switch {
	case gone:
		return decision.Pod{State: decision.PodGone, Message: "is gone"}
	case pod == nil:
		return decision.Pod{State: decision.PodUnknown}
	case runinfo.PodEnded(pod, reported), EngineEnded(pod):
		return observeEnd(pod)
	case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return observeTerminating(pod)
	case pod.Status.Phase == corev1.PodRunning:
		return decision.Pod{State: decision.PodRunning, Node: pod.Spec.NodeName, SilentSince: silentSince(pod)}
	case pod.Status.Phase == corev1.PodPending:
		return observePending(pod)
	default:
		return decision.Pod{State: decision.PodUnknown}
	}
}

// observeTerminating reads from a pod that is to end why, and until when.
func observeTerminating(pod *corev1.Pod) decision.Pod {
	p := decision.Pod{State: decision.PodTerminating, Message: "was deleted", Node: pod.Spec.NodeName,
		SilentSince: silentSince(pod)}
	if how, detail := disruption(pod); how != "" {
		p.Message, p.Detail = "was "+how, detail
	}
	switch {
	case pod.DeletionTimestamp != nil:
		p.Until = pod.DeletionTimestamp.Time
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		p.EndUnconfirmed = !hasRunningContainer(pod)
		if e, ok := wasEnded(pod); ok {
			p.Message, p.Detail = e.how, strings.TrimSpace(e.detail)
		} else if p.Message == "was deleted" {
			p.Message = "was given up by " + nodeOf(pod)
		}
	}
	return p
}

// WhyTerminating returns why a pod has to end, in words that follow its name; empty when it was not deleted.
func WhyTerminating(pod *corev1.Pod) string {
	if pod.DeletionTimestamp == nil {
		return ""
	}
	if p := observeTerminating(pod); p.Detail != "" {
		return p.Message + ": " + p.Detail
	}
	return "was deleted"
}

// silentSince is since when a pod's node does not answer; zero while it does, or that is not known. The node's own
// Ready condition comes to its pods as theirs: the node controller takes Ready away from them and leaves
// ContainersReady, which a kubelet would not do. So no Node has to be read.
func silentSince(pod *corev1.Pod) time.Time {
	ready, containers := podCondition(pod, corev1.PodReady), podCondition(pod, corev1.ContainersReady)
	if ready == nil || containers == nil || len(pod.Spec.ReadinessGates) > 0 {
		return time.Time{}
	}
	if ready.Status == corev1.ConditionTrue || containers.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}
