package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observed is what is known of a pod on this node.
type observed struct {
	// since the node has the pod.
	since metav1.Time
	// init and main are the states of the containers, in the order of the spec. The zero state: not started.
	init, main []corev1.ContainerState
	// failed is set when the pod ended for another reason than its containers.
	failed *failure
}

// statusOf makes the status of a pod from what is known. was are the conditions last written, whose times stay while
// they do.
func statusOf(pod *corev1.Pod, o observed, was []corev1.PodCondition, now metav1.Time) corev1.PodStatus {
	s := corev1.PodStatus{
		Phase:     phaseOf(o),
		StartTime: &o.since,
		HostIP:    address,
		HostIPs:   []corev1.HostIP{{IP: address}},
		PodIP:     address,
		PodIPs:    []corev1.PodIP{{IP: address}},
	}
	if o.failed != nil {
		s.Reason, s.Message = o.failed.reason, o.failed.message
	}
	notYet := "ContainerCreating"
	if !initialized(o) {
		notYet = "PodInitializing"
	}
	s.InitContainerStatuses = containerStatuses(pod, pod.Spec.InitContainers, o.init, "PodInitializing", succeeded)
	s.ContainerStatuses = containerStatuses(pod, pod.Spec.Containers, o.main, notYet, running)
	s.Conditions = conditionsOf(o, s.Phase, was, now)
	return s
}

// phaseOf follows the real kubelet's getPhase for restartPolicy Never.
func phaseOf(o observed) corev1.PodPhase {
	if o.failed != nil {
		return corev1.PodFailed
	}
	for _, state := range o.init {
		if t := state.Terminated; t != nil && t.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	if !initialized(o) {
		return corev1.PodPending
	}
	ended, failed := 0, false
	for _, state := range o.main {
		switch {
		case state.Terminated != nil:
			ended++
			failed = failed || state.Terminated.ExitCode != 0
		case state.Running == nil:
			return corev1.PodPending
		}
	}
	switch {
	case ended < len(o.main):
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

func initialized(o observed) bool {
	for _, state := range o.init {
		if !succeeded(state) {
			return false
		}
	}
	return true
}

func succeeded(s corev1.ContainerState) bool {
	return s.Terminated != nil && s.Terminated.ExitCode == 0
}
func running(s corev1.ContainerState) bool { return s.Running != nil }

func containerStatuses(pod *corev1.Pod, spec []corev1.Container, states []corev1.ContainerState, notYet string,
	ready func(corev1.ContainerState) bool) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for i, c := range spec {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: states[i], Ready: ready(states[i])}
		started := s.State.Running != nil
		s.Started = &started
		if s.State == (corev1.ContainerState{}) {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: notYet}
		}
		if s.State.Waiting == nil {
			s.ContainerID = containerID(pod, c.Name)
		}
		list = append(list, s)
	}
	return list
}

func containerID(pod *corev1.Pod, container string) string {
	return fmt.Sprintf("process://%s/%s", pod.UID, container)
}

// conditionsOf leaves PodScheduled out: it is the API server's, from the binding.
func conditionsOf(o observed, phase corev1.PodPhase, was []corev1.PodCondition, now metav1.Time) []corev1.PodCondition {
	anyStarted, allReady := false, phase == corev1.PodRunning
	for _, states := range [][]corev1.ContainerState{o.init, o.main} {
		for _, state := range states {
			anyStarted = anyStarted || state.Running != nil || state.Terminated != nil
		}
	}
	for _, state := range o.main {
		allReady = allReady && running(state)
	}
	reason := ""
	switch {
	case phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case phase == corev1.PodFailed:
		reason = "PodFailed"
	case !allReady:
		reason = "ContainersNotReady"
	}
	list := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: truth(anyStarted && !ended(phase))},
		{Type: corev1.PodInitialized, Status: truth(initialized(o))},
		{Type: corev1.ContainersReady, Status: truth(allReady), Reason: reason},
		{Type: corev1.PodReady, Status: truth(allReady), Reason: reason},
	}
	for i := range list {
		list[i].LastTransitionTime = now
		for _, w := range was {
			if w.Type == list[i].Type && w.Status == list[i].Status {
				list[i].LastTransitionTime = w.LastTransitionTime
			}
		}
	}
	return list
}

func ended(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
