package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// ofMachine returns the steps of a node: its pods start, continue, are killed or reported, and their runners thaw.
func (w *world) ofMachine(i int, m *machine) {
	if m.silent {
		if w.quiet {
			w.can(1, nodeIsOff, i, 0)
		}
		return
	}
	pod := w.api.pod(m.pod)
	if pod != nil && pod.UID != m.uid {
		pod = nil
	}
	r := m.runner
	switch {
	case r == nil && pod != nil && pod.DeletionTimestamp == nil:
		w.can(5, startPod, i, 0)
	case r == nil && pod != nil:
		w.can(5, removePod, i, 0)
	case r == nil:
	case !r.alive():
		if pod != nil && !m.told {
			w.can(5, tellEnd, i, 0)
		} else if pod != nil && pod.DeletionTimestamp != nil {
			w.can(5, removePod, i, 0)
		}
	case !r.told && (pod == nil || pod.DeletionTimestamp != nil):
		w.can(5, terminate, i, 0)
	case r.told && w.time >= m.killAt:
		w.can(8, killPod, i, 0)
	}
	if r == nil || !r.alive() {
		return
	}
	switch {
	case r.frozen:
		w.can(1, thawRunner, i, 0)
	case r.waits && !r.told && w.time < r.wakeAt && r.heard == r.server.view.at[runs]:
	case r.slow && !w.quiet:
		w.can(1, goOnRunner, i, 0)
	default:
		w.can(8, goOnRunner, i, 0)
	}
}

func startPod(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s starts", m.pod)
	n := dup(w.api.pod(m.pod))
	n.Status.Phase = corev1.PodRunning
	n.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runinfo.ShellContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	r := &runner{w: w, server: w.servers[0], machine: m, pod: m.pod, uid: m.uid, run: m.run, stack: m.stack, started: w.time, begun: map[string]bool{}}
	m.runner = r
	r.task = w.begin(m.pod, r.work)
	w.api.put(pods, n)
}

func goOnRunner(w *world, i, _ int) {
	if w.script != nil && w.script.kills() {
		killPod(w, i, 0)
		return
	}
	w.resume(w.machines[i].runner.task)
}

func terminate(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s is asked to stop", m.pod)
	m.runner.told, m.killAt = true, w.time+int64(podGrace/time.Second)
}

// killPod kills the processes of a pod.
func killPod(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s is killed", m.pod)
	m.code = 137
	w.killRunner(m.runner)
}

func (w *world) killRunner(r *runner) {
	if r == nil || !r.alive() {
		return
	}
	for _, e := range r.pending {
		w.excuse(e.ID, "killed before it told")
	}
	w.kill(r.task)
	r.mind, r.applying, w.dirty = nil, false, true
}

func (w *world) excuse(id, why string) {
	if t := w.thing(id); t != nil && t.excused == "" {
		w.tracef("   excused: %s, %s", id, why)
		t.excused = why
	}
}

func tellEnd(w *world, i, _ int) {
	m := w.machines[i]
	code := m.code
	if m.runner.stranded {
		code = runnerapi.ExitStranded
	}
	w.tracef("pod %s has ended with %d", m.pod, code)
	m.told = true
	n := dup(w.api.pod(m.pod))
	n.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		n.Status.Phase = corev1.PodFailed
	}
	n.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runinfo.ShellContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
	w.api.put(pods, n)
}

func removePod(w *world, i, _ int) {
	w.tracef("pod %s goes", w.machines[i].pod)
	w.api.drop(pods, w.machines[i].pod)
}

func thawRunner(w *world, i, _ int) {
	w.tracef("pod %s goes on after it was frozen", w.machines[i].pod)
	w.machines[i].runner.frozen = false
}

// nodeIsOff: a user asserts that a node is off.
func nodeIsOff(w *world, i, _ int) {
	m := w.machines[i]
	m.silent = false
	if pod := w.api.pod(m.pod); pod != nil && pod.UID == m.uid {
		w.tracef("the node of pod %s is deleted", m.pod)
		w.api.drop(pods, m.pod)
	}
}
