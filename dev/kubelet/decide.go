package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// action is what to do with a pod that is seen for the first time.
type action string

const (
	// ignore: it is not for this node, or not yet.
	ignore action = "ignore"
	// bind: no node has it; take it and run it.
	bind action = "bind"
	// start: it was given to this node, and nothing of it has been started.
	start action = "start"
	// lose: an earlier kubelet started it; its processes are gone.
	lose action = "lose"
	// keep: it has ended.
	keep action = "keep"
)

// decide says what to do with a pod. startedBefore says that a process of it was started, whatever its status says: the
// status may be older.
func decide(pod *corev1.Pod, node string, startedBefore bool) action {
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0:
		return bind
	case pod.Spec.NodeName != node:
		return ignore
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return keep
	case startedBefore || pod.Status.Phase == corev1.PodRunning:
		return lose
	}
	return start
}

// failure ends a pod for a reason that no container gave.
type failure struct{ reason, message string }

// refuse says why this kubelet cannot run a pod, or nil. It is better to fail than to ignore a field that
// the pod's author counts on.
func refuse(spec *corev1.PodSpec) *failure {
	no := func(reason, format string, args ...any) *failure {
		return &failure{reason, fmt.Sprintf(format, args...) + " (the kubelet of cairn dev runs containers as " +
			"processes of this machine)"}
	}
	if spec.RestartPolicy != corev1.RestartPolicyNever {
		return no("UnsupportedRestartPolicy", "restartPolicy %s is not supported: only Never is", spec.RestartPolicy)
	}
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; !supported(v) {
			return no("UnsupportedVolume", "volume %q is of a kind that is not supported: only emptyDir, secret, "+
				"configMap, downwardAPI and projected are", v.Name)
		}
	}
	for _, c := range containersOf(spec) {
		switch {
		case c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyNever:
			return no("UnsupportedRestartPolicy", "restartPolicy %s of container %q is not supported", *c.RestartPolicy,
				c.Name)
		case len(c.Command) == 0:
			return no("NoCommand", "container %q has no command, and its image is not looked at", c.Name)
		case c.Lifecycle != nil:
			return no("UnsupportedLifecycle", "container %q has lifecycle hooks, which are not supported", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if m.SubPath != "" || m.SubPathExpr != "" {
				return no("UnsupportedVolume", "container %q mounts a subPath, which is not supported", c.Name)
			}
		}
	}
	return nil
}

func supported(v *corev1.Volume) bool {
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.Secret == nil && s.ConfigMap == nil && s.DownwardAPI == nil && s.ServiceAccountToken == nil {
				return false
			}
		}
		return true
	}
	return v.EmptyDir != nil || v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil
}
