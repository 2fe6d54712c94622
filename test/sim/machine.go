package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// ofMachine returns the steps of a node: its pods start, continue, are killed or reported, and their runners thaw.
func (sim *simulation) ofMachine(i int, m *machine) {
	if m.silent {
		if sim.quiet {
			sim.can(1, nodeIsOff, i, 0)
		}
		return
	}
	pod := sim.api.pod(m.pod)
	if pod != nil && pod.UID != m.uid {
		pod = nil
	}
	r := m.runner
	switch {
	case r == nil && pod != nil && pod.DeletionTimestamp == nil:
		sim.can(5, startPod, i, 0)
	case r == nil && pod != nil:
		sim.can(5, removePod, i, 0)
	case r == nil:
	case !r.alive():
		if pod != nil && !m.endReported {
			sim.can(5, reportEnd, i, 0)
		} else if pod != nil && pod.DeletionTimestamp != nil {
			sim.can(5, removePod, i, 0)
		}
	case !r.terminating && (pod == nil || pod.DeletionTimestamp != nil):
		sim.can(5, terminate, i, 0)
	case r.terminating && sim.time >= m.killAt:
		sim.can(8, killPod, i, 0)
	}
	if r == nil || !r.alive() {
		return
	}
	switch {
	case r.frozen:
		sim.can(1, thawRunner, i, 0)
	case r.waits && !r.terminating && sim.time < r.wakeAt && r.received == r.server.view.at[runs]:
	case r.slow && !sim.quiet:
		sim.can(1, goOnRunner, i, 0)
	default:
		sim.can(8, goOnRunner, i, 0)
	}
}

func startPod(sim *simulation, i, _ int) {
	m := sim.machines[i]
	sim.tracef("pod %s starts", m.pod)
	n := dup(sim.api.pod(m.pod))
	n.Status.Phase = corev1.PodRunning
	n.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: runinfo.ShellContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	r := &runner{sim: sim, server: sim.servers[0], machine: m, pod: m.pod, uid: m.uid, run: m.run, stack: m.stack,
		started: sim.time, begun: map[string]bool{}}
	m.runner = r
	r.task = sim.begin(m.pod, r.work)
	sim.api.put(pods, n)
}

func goOnRunner(sim *simulation, i, _ int) {
	if sim.script != nil && sim.script.kills() {
		killPod(sim, i, 0)
		return
	}
	sim.resume(sim.machines[i].runner.task)
}

func terminate(sim *simulation, i, _ int) {
	m := sim.machines[i]
	sim.tracef("pod %s is asked to stop", m.pod)
	m.runner.terminating, m.killAt = true, sim.time+int64(podGrace/time.Second)
}

// killPod kills the processes of a pod.
func killPod(sim *simulation, i, _ int) {
	m := sim.machines[i]
	sim.tracef("pod %s is killed", m.pod)
	m.code = 137
	sim.killRunner(m.runner)
}

func (sim *simulation) killRunner(r *runner) {
	if r == nil || !r.alive() {
		return
	}
	for _, e := range r.pending {
		sim.excuse(e.ID, "killed before it told")
	}
	sim.kill(r.task)
	r.mind, r.applying, sim.dirty = nil, false, true
}

func (sim *simulation) excuse(id, why string) {
	if t := sim.resource(id); t != nil && t.excused == "" {
		sim.tracef("   excused: %s, %s", id, why)
		t.excused = why
	}
}

func reportEnd(sim *simulation, i, _ int) {
	m := sim.machines[i]
	code := m.code
	if m.runner.stranded {
		code = runnerapi.ExitStranded
	}
	sim.tracef("pod %s has ended with %d", m.pod, code)
	m.endReported = true
	n := dup(sim.api.pod(m.pod))
	n.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		n.Status.Phase = corev1.PodFailed
	}
	n.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: runinfo.ShellContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
	sim.api.put(pods, n)
}

func removePod(sim *simulation, i, _ int) {
	sim.tracef("pod %s goes", sim.machines[i].pod)
	sim.api.drop(pods, sim.machines[i].pod)
}

func thawRunner(sim *simulation, i, _ int) {
	sim.tracef("pod %s goes on after it was frozen", sim.machines[i].pod)
	sim.machines[i].runner.frozen = false
}

// nodeIsOff: a user asserts that a node is off.
func nodeIsOff(sim *simulation, i, _ int) {
	m := sim.machines[i]
	m.silent = false
	if pod := sim.api.pod(m.pod); pod != nil && pod.UID == m.uid {
		sim.tracef("the node of pod %s is deleted", m.pod)
		sim.api.drop(pods, m.pod)
	}
}
