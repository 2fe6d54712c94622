package run

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// waitingFor says why a pending pod has not started, if there is more to say than that it takes a moment: its first waiting container's reason, or the scheduler's.
func waitingFor(pod *corev1.Pod) (reason, message string) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return w.Reason, w.Message
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason, c.Message
		}
	}
	return "", ""
}

// endOf says how a pod ended.
func endOf(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return strings.TrimSpace(fmt.Sprintf("the pod ended: %s %s", pod.Status.Reason, pod.Status.Message))
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("the pod's container %s ended with exit code %d (%s)", c.Name, t.ExitCode, t.Reason)
		}
	}
	return "the pod ended"
}

// exitedWith says that the engine's container ended with an exit code.
func exitedWith(pod *corev1.Pod, code int32) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && c.State.Terminated.ExitCode == code
	})
}
