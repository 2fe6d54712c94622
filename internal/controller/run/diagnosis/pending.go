package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// How long a pending pod may wait, from its creation. A pod that may start at any moment is deleted in the end, since
// it has a place that others wait for; the next try gets a new one.
const (
	// brokenFor is for what no kubelet can ever start. One whose cache is old reports the same for a moment.
	brokenFor = 20 * time.Second
	// pullFor is for an image that cannot be had, and for what may pass as quickly.
	pullFor = 5 * time.Minute
	// startFor is for all else: a node that an autoscaler has yet to create, a large image, a volume.
	startFor = 15 * time.Minute
)

// An obstacle is what keeps a pending pod from starting: how long it may, and the class of the attempt's failure then.
type obstacle struct {
	patience time.Duration
	class    v1alpha1.FailureClass
	image    bool // the image of a container is at fault
}

// obstacles by the reason that the kubelet or the scheduler reports. With any other one the pod may wait for startFor.
var obstacles = map[string]obstacle{
	"InvalidImageName":           {brokenFor, v1alpha1.FailureConfigurationError, true},
	"CreateContainerConfigError": {brokenFor, v1alpha1.FailureConfigurationError, false},
	"ErrImagePull":               {pullFor, v1alpha1.FailureTransient, true},
	"ImagePullBackOff":           {pullFor, v1alpha1.FailureTransient, true},
	"ImageInspectError":          {pullFor, v1alpha1.FailureTransient, true},
	"ErrImageNeverPull":          {pullFor, v1alpha1.FailureTransient, true}, // another node may have it
	"RegistryUnavailable":        {pullFor, v1alpha1.FailureTransient, true},
	"SignatureValidationFailed":  {pullFor, v1alpha1.FailureTransient, true},
	"CreateContainerError":       {pullFor, v1alpha1.FailureTransient, false},
	"RunContainerError":          {pullFor, v1alpha1.FailureTransient, false},
	"CrashLoopBackOff":           {pullFor, v1alpha1.FailureTransient, false}, // a sidecar
	// The controller that set the gate removes it, for example a queue: that may take as long as an attempt may.
	corev1.PodReasonSchedulingGated: {0, v1alpha1.FailureTransient, false},
}

// kubeletBehind begins the message of a kubelet whose cache does not have a Secret or ConfigMap yet.
const kubeletBehind = "failed to sync "

// observePending returns what a pod waits for that has not started.
func observePending(pod *corev1.Pod) decision.Pod {
	p := decision.Pod{State: decision.PodPending, Class: v1alpha1.FailureTransient, Patience: startFor}
	reason, message, container := waitingFor(pod)
	switch {
	case reason != "":
		p.Message = reason + ": " + cmp.Or(message, "there is no message")
		o, ok := obstacles[reason]
		if ok {
			p.Patience, p.Class = o.patience, o.class
		}
		if image := imageOf(pod, container); o.image && !strings.Contains(message, image) {
			p.Message += fmt.Sprintf(" (image %s of container %s)", image, container)
		}
		if o.image && container == runinfo.ShellContainer && o.class == v1alpha1.FailureTransient {
			p.Reason = v1alpha1.FailureImagePullFailed
		}
		if strings.HasPrefix(message, kubeletBehind) {
			p.Patience, p.Class = pullFor, v1alpha1.FailureTransient
		}
	case hasRunningContainer(pod): // an init container that takes its time
		p.Patience = 0
	default:
		p.Quiet = presumedWait(pod)
	}
	return p
}

// waitingFor returns why a pending pod has not started: the reason of its first waiting container that is not a normal
// stage of the start, or the scheduler's.
func waitingFor(pod *corev1.Pod) (reason, message, container string) {
	for _, c := range containers(pod) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" &&
			w.Reason != "ContainerCreating" {
			return w.Reason, w.Message, c.Name
		}
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return c.Reason, c.Message, ""
	}
	return "", "", ""
}

// presumedWait is what a pod seems to wait for when its status has no reason.
func presumedWait(pod *corev1.Pod) string {
	const more = "; kubectl describe pod shows more"
	ready := podCondition(pod, corev1.PodReadyToStartContainers)
	switch {
	case pod.Spec.NodeName == "":
		return "no scheduler has given it to a node yet" + more
	case ready != nil && ready.Status == corev1.ConditionTrue:
		return fmt.Sprintf("node %s has not started its containers yet, as with an image that takes long to pull",
			pod.Spec.NodeName) + more
	}
	return fmt.Sprintf("node %s has not prepared its volumes and its network yet", pod.Spec.NodeName) + more
}

// hasRunningContainer reports whether a container of a pod runs.
func hasRunningContainer(pod *corev1.Pod) bool {
	return slices.ContainsFunc(containers(pod), func(c corev1.ContainerStatus) bool { return c.State.Running != nil })
}

// HasNotStarted reports whether none of a pod's containers has started, apart from init containers.
func HasNotStarted(pod *corev1.Pod) bool {
	started := func(c corev1.ContainerStatus) bool { return c.State.Running != nil || c.State.Terminated != nil }
	return pod.Status.Phase == corev1.PodPending && !slices.ContainsFunc(pod.Status.ContainerStatuses, started)
}

// containers are the states of all containers, those first that start first.
func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}
