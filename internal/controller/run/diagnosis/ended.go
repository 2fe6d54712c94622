package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// An ending is how a pod ended: words that follow its name, the message of its node or of Kubernetes, and the class of
// the failure of an attempt that had not reported.
type ending struct {
	how, detail string
	class       v1alpha1.FailureClass
}

// observeEnd returns how a pod ended, by the first of these functions that applies.
func observeEnd(pod *corev1.Pod) decision.Pod {
	for _, check := range []func(*corev1.Pod) (ending, bool){
		couldNotStart, wasEnded, wasDisrupted, ranOutOfMemory, wasForgotten, wasKilled, containerFailed,
	} {
		if e, ok := check(pod); ok {
			return decision.Pod{
				State: decision.PodEnded, Message: e.how, Detail: strings.TrimSpace(e.detail), Class: e.class,
				Node:     pod.Spec.NodeName,
				Stranded: exitedWith(pod, runnerapi.ExitStranded),
			}
		}
	}
	return decision.Pod{State: decision.PodEnded, Message: "ended", Node: pod.Spec.NodeName,
		Stranded: exitedWith(pod, runnerapi.ExitStranded)}
}

// couldNotStart: the container runtime could not run a container's program.
func couldNotStart(pod *corev1.Pod) (ending, bool) {
	for _, c := range containers(pod) {
		t := c.State.Terminated
		if t == nil || (t.Reason != "StartError" && t.Reason != "ContainerCannotRun") {
			continue
		}
		e := ending{fmt.Sprintf("could not start its container %s", c.Name), t.Message, v1alpha1.FailureTransient}
		if strings.Contains(t.Message, "exec format error") {
			e.how = fmt.Sprintf("could not start its container %s, whose image %s is for machines of another "+
				"kind than %s",
				c.Name, imageOf(pod, c.Name), nodeOf(pod))
			e.class = v1alpha1.FailureConfigurationError
		}
		return e, true
	}
	return ending{}, false
}

// wasEnded: the status of the whole pod has the kubelet's reason why it ended or rejected the pod.
func wasEnded(pod *corev1.Pod) (ending, bool) {
	reason, detail := pod.Status.Reason, pod.Status.Message
	switch reason {
	case "":
		return ending{}, false
	case "Evicted":
		return ending{"was evicted by " + nodeOf(pod), detail, ""}, true
	case "Preempting":
		return ending{"was preempted by " + nodeOf(pod), detail, ""}, true
	case "Terminated":
		return ending{"was ended by the shutdown of " + nodeOf(pod), detail, ""}, true
	case "DeadlineExceeded":
		return ending{"was ended by its activeDeadlineSeconds", detail, ""}, true
	}
	if len(containers(pod)) == 0 { // nothing of it was ever there
		return ending{fmt.Sprintf("was rejected by %s (%s)", nodeOf(pod), reason), detail, v1alpha1.FailureTransient},
			true
	}
	return ending{fmt.Sprintf("ended (%s)", reason), detail, ""}, true
}

// wasDisrupted: Kubernetes or a user of it ended the pod, not Cairn.
func wasDisrupted(pod *corev1.Pod) (ending, bool) {
	how, detail := disruption(pod)
	return ending{"was " + how, detail, ""}, how != ""
}

// disruption returns by whom a pod has to end, as what follows "was"; empty when that is not known.
func disruption(pod *corev1.Pod) (how, detail string) {
	c := podCondition(pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue {
		return "", ""
	}
	switch c.Reason {
	case "EvictionByEvictionAPI":
		how = fmt.Sprintf("evicted from %s through the API, as a drain of the node does", nodeOf(pod))
	case corev1.PodReasonPreemptionByScheduler:
		how = fmt.Sprintf("preempted on %s by the scheduler", nodeOf(pod))
	case "DeletionByTaintManager":
		how = fmt.Sprintf("removed from %s for a taint of the node", nodeOf(pod))
	case "DeletionByPodGC":
		how = fmt.Sprintf("removed since its %s is gone", nodeOf(pod))
	case corev1.PodReasonTerminationByKubelet:
		how = "ended by " + nodeOf(pod)
	default:
		how = fmt.Sprintf("disrupted (%s)", c.Reason)
	}
	return how, c.Message
}

// ranOutOfMemory: the kernel killed a container for what it took.
func ranOutOfMemory(pod *corev1.Pod) (ending, bool) {
	for _, c := range containers(pod) {
		if t := c.State.Terminated; t == nil || t.Reason != "OOMKilled" {
			continue
		}
		how := fmt.Sprintf("ran out of memory in its container %s", c.Name)
		if c.Name != runinfo.ShellContainer {
			return ending{how, limitOf(pod, c.Name), ""}, true
		}
		return ending{how, limitOf(pod, c.Name) + ": raise spec.runner.resources.limits.memory", ""}, true
	}
	return ending{}, false
}

// limitOf words how much memory a container may take.
func limitOf(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == container {
			return "the limit is " + limit.String()
		}
	}
	return "it has no limit of its own, so the memory of its node or of its pod was exhausted"
}

// wasForgotten: the node does not know what became of a container.
func wasForgotten(pod *corev1.Pod) (ending, bool) {
	for _, c := range containers(pod) {
		if t := c.State.Terminated; t != nil && (t.Reason == "ContainerStatusUnknown" || t.Reason == "Unknown") {
			return ending{fmt.Sprintf("was lost by %s, as when the machine restarts", nodeOf(pod)), t.Message, ""}, true
		}
	}
	return ending{}, false
}

// killedCode is the exit code of what SIGKILL ended.
const killedCode = 137

func wasKilled(pod *corev1.Pod) (ending, bool) {
	for _, c := range containers(pod) {
		if t := c.State.Terminated; t == nil || t.ExitCode != killedCode {
			continue
		}
		how := fmt.Sprintf("had its container %s killed (SIGKILL)", c.Name)
		if pod.DeletionTimestamp != nil {
			return ending{how, fmt.Sprintf("it was deleted, and did not end within %ds",
				ptr.Deref(pod.DeletionGracePeriodSeconds, 0)), ""}, true
		}
		return ending{how, fmt.Sprintf("%s does not report a lack of memory; the node itself, or a user on it, did it",
			nodeOf(pod)), ""}, true
	}
	return ending{}, false
}

// containerFailed: a container ended by itself. Its last output may be anything, and is in its log.
func containerFailed(pod *corev1.Pod) (ending, bool) {
	for _, c := range containers(pod) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return ending{fmt.Sprintf("had its container %s end with exit code %d (%s)", c.Name, t.ExitCode,
				cmp.Or(t.Reason, "Error")), "see its log", ""}, true
		}
	}
	return ending{}, false
}

// EngineEnded reports whether the engine's container of a pod has ended while others run: those that another system
// added. They have neither the token nor the files of the runner, so the attempt is over. The pod would run on.
func EngineEnded(pod *corev1.Pod) bool {
	ended := func(c corev1.ContainerStatus) bool {
		return c.Name == runinfo.ShellContainer && c.State.Terminated != nil
	}
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil &&
		slices.ContainsFunc(pod.Status.ContainerStatuses, ended)
}

// IsKeptRunning reports whether a pod is to be deleted since only containers of another system run in it. One whose
// log has the only copy of a state stays.
func IsKeptRunning(pod *corev1.Pod) bool {
	return EngineEnded(pod) && !exitedWith(pod, runnerapi.ExitStranded)
}

// exitedWith reports whether the engine's container ended with an exit code.
func exitedWith(pod *corev1.Pod, code int32) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == runinfo.ShellContainer && c.State.Terminated != nil && c.State.Terminated.ExitCode == code
	})
}

func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return "node"
	}
	return "node " + pod.Spec.NodeName
}
