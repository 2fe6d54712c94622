package run

import (
	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// TrimRun leaves out of a finished Run what nothing is decided on any more, for a cache that has a hundred thousand of
// them: its labels, its steps and the resources and outputs of its plan. Code that shows those to users reads the Run
// itself. A Run that is not finished stays whole: its status is written as a whole.
func TrimRun(run *v1alpha1.Run) {
	if !run.Status.Phase.Finished() {
		return
	}
	run.Labels, run.Annotations = nil, nil
	for i := range run.Status.Attempts {
		a := &run.Status.Attempts[i]
		if i > 0 && a.PodUID == run.Status.Attempts[i-1].PodUID { // one text for both
			a.Pod, a.PodUID = run.Status.Attempts[i-1].Pod, run.Status.Attempts[i-1].PodUID
		}
		a.Steps = runinfo.RetainedSteps(a.Steps)
	}
	if plan := run.Status.Plan; plan != nil {
		plan.Resources = nil
		if run.Spec.PullRequest == nil { // else its PullRequest shows what depends on them
			plan.Outputs = nil
		}
		if plan.Policy != nil {
			plan.Policy.Findings = nil
		}
	}
}

// TrimPod leaves out of a pod most of its spec. A diagnosis needs its status, and the images and
// the memory of its containers.
func TrimPod(pod *corev1.Pod) {
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates}
	spec.InitContainers, spec.Containers = trimContainers(pod.Spec.InitContainers), trimContainers(pod.Spec.Containers)
	pod.Spec = spec
}

func trimContainers(all []corev1.Container) []corev1.Container {
	var lean []corev1.Container
	for _, c := range all {
		lean = append(lean, corev1.Container{Name: c.Name, Image: c.Image,
			Resources: corev1.ResourceRequirements{Limits: c.Resources.Limits}})
	}
	return lean
}
