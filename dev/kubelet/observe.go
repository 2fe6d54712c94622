package kubelet

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// set notes the state of one of the pod's containers.
func (p *pod) set(state *corev1.ContainerState, to corev1.ContainerState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*state = to
}

// fail notes that the pod has failed for a reason of the node's.
func (p *pod) fail(why *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observed.failed = why
}

// interrupt records that a container was signaled to end.
func (p *pod) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupted = true
}

// cutShort records why a pod was ended early. It records nothing if the pod has just ended on its own.
func (p *pod) cutShort(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := ended(phaseOf(p.observed))
	if done && !p.interrupted {
		return
	}
	switch {
	case errors.Is(why, errShutdown):
		p.observed.failed = &failure{"Terminated", "Pod was terminated in response to imminent node shutdown."}
	case errors.Is(why, errDeadline):
		p.observed.failed = &failure{"DeadlineExceeded",
			"Pod was active on the node longer than the specified deadline"}
	case errors.Is(why, errDeleted) && !done:
		p.observed.failed = &failure{"Deleted", "Pod was deleted before its containers were started."}
	}
}

// lose notes what an earlier kubelet left: the status it wrote, in which all that ran or was to run has ended.
func (p *pod) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observed.init = lost(p.obj, p.obj.Spec.InitContainers, p.obj.Status.InitContainerStatuses)
	p.observed.main = lost(p.obj, p.obj.Spec.Containers, p.obj.Status.ContainerStatuses)
	p.observed.failed = &failure{"NodeRestarted", "The node was restarted while the pod was running."}
}

// lost are the states of containers whose processes are gone, from the states that were last written.
func lost(pod *corev1.Pod, spec []corev1.Container, was []corev1.ContainerStatus) []corev1.ContainerState {
	states := make([]corev1.ContainerState, len(spec))
	for i, c := range spec {
		at := slices.IndexFunc(was, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at >= 0 && was[at].State.Terminated != nil {
			states[i] = was[at].State
			continue
		}
		t := &corev1.ContainerStateTerminated{
			ExitCode:    137,
			Reason:      "ContainerStatusUnknown",
			Message:     "The container could not be located when the node was restarted",
			ContainerID: containerID(pod, c.Name),
		}
		if at >= 0 && was[at].State.Running != nil {
			t.StartedAt = was[at].State.Running.StartedAt
		}
		states[i].Terminated = t
	}
	return states
}

// report hands the pod's status to the reporter.
func (p *pod) report(when urgency) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.observed
	o.init, o.main = slices.Clone(o.init), slices.Clone(o.main)
	p.reports.put(report{o, metav1.Now(), when})
}
