package runinfo

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// PodName of an attempt: deterministic, so that a second create of the same attempt fails with AlreadyExists.
func PodName(run string, phase v1alpha1.AttemptPhase, number int32) string {
	return fmt.Sprintf("%s-%s-%d", run, strings.ToLower(string(phase)), number)
}

// RunOfPod is the name of the Run whose pod has this name; empty when PodName does not return such a name. A user can
// create a pod of any name: only a Run that NamesPod has it.
func RunOfPod(pod string) string {
	for _, phase := range []v1alpha1.AttemptPhase{
		v1alpha1.AttemptPlan, v1alpha1.AttemptApply, v1alpha1.AttemptBuild, v1alpha1.AttemptShell,
	} {
		if run, ok := strings.CutSuffix(pod, PodName("", phase, int32(Number(pod)))); ok {
			return run
		}
	}
	return ""
}

// ShellCommand is what a user executes in the pod of a shell, in the container ShellContainer: a command, or a shell.
func ShellCommand(command []string) []string {
	return append([]string{DirBin + "/cairn-runner", "shell", "--work=" + DirWork, "--"}, command...)
}

// ShellContainer is the container that a runner works in.
const ShellContainer = "engine"

// Folders of a runner pod.
const (
	DirCairn = "/cairn"
	DirBin   = DirCairn + "/bin"
	DirWork  = DirCairn + "/work"
)

// PodEnded reports whether all containers of a pod have ended, according to its node. The phase alone does not prove
// it: Kubernetes' garbage collector writes Failed into a pod whose node it takes for gone, without asking it.
//
// reported: the runner reported at least once, as that of a lock's holder did. Then the node has to report of each
// container that it has ended. A kubelet that restarts and rejects a pod that it had accepted before writes Failed
// over all that it reported, and ends what runs afterwards. Of a pod that never reported, a kubelet that never
// accepted it reports the same.
func PodEnded(pod *corev1.Pod, reported bool) bool {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return false
	}
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,
		pod.Status.EphemeralContainerStatuses)
	if slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool { return c.State.Running != nil }) {
		return false
	}
	incomplete := len(pod.Status.ContainerStatuses) == 0 ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated == nil
		})
	return !incomplete || !reported && !collected(pod)
}

// collected reports whether Kubernetes' garbage collector deletes a pod, and so may have written its phase.
func collected(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByPodGC"
	})
}
