package run

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/diagnosis"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// deleteUnusedPods deletes the pods that a finished Run left before they did anything: the one of its last attempt if
// it has not started, for example without its image, and one that was created for an attempt which then did not begin.
// The latter receives no order. They would stay as long as the Run is kept, and count for a quota. What the cache does
// not have yet leads here again as an event.
func (r *Reconciler) deleteUnusedPods(ctx context.Context, run *v1alpha1.Run) error {
	if a := runinfo.Current(&run.Status); a != nil {
		if err := r.deletePodIf(ctx, run, a.Pod, diagnosis.HasNotStarted); err != nil {
			return err
		}
	}
	always := func(*corev1.Pod) bool { return true }
	next := runinfo.NextNumber(&run.Status)
	for _, phase := range []v1alpha1.AttemptPhase{v1alpha1.AttemptBuild, v1alpha1.AttemptPlan, v1alpha1.AttemptApply,
		v1alpha1.AttemptShell} {
		if err := r.deletePodIf(ctx, run, runinfo.PodName(run.Name, phase, next), always); err != nil {
			return err
		}
	}
	return nil
}

// deletePodsKeptRunning deletes the pods of a Run's attempts that only a container of another system keeps running.
// They would run until the Run is deleted, and count for a quota.
func (r *Reconciler) deletePodsKeptRunning(ctx context.Context, run *v1alpha1.Run) error {
	name := ""
	for _, a := range run.Status.Attempts {
		if a.Pod == name { // an apply in the pod of the plan
			continue
		}
		name = a.Pod
		if err := r.deletePodIf(ctx, run, name, diagnosis.IsKeptRunning); err != nil {
			return err
		}
	}
	return nil
}

// deletePodIf deletes a pod of the Run that satisfies a condition.
func (r *Reconciler) deletePodIf(ctx context.Context, run *v1alpha1.Run, name string,
	condition func(*corev1.Pod) bool) error {
	pod := &corev1.Pod{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, pod)
	if err != nil || pod.DeletionTimestamp != nil || !metav1.IsControlledBy(pod, run) || !condition(pod) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(ignoreConflict(r.Client.Delete(ctx, pod, client.Preconditions{UID: ptr.To(pod.UID)})))
}
