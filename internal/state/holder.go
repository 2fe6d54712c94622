package state

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
)

// page is how many objects are listed at once.
const page = 500

// isOver finds out whether the holder of a lock is over. An error means that it is not known, which does not count
// as over.
func (s *Store) isOver(ctx context.Context, namespace string, lock *v1alpha1.Lock) (bool, error) {
	if lock.PodUID == "" {
		return false, nil
	}
	run, err := s.run(ctx, namespace, lock.Run)
	if err != nil || !decision.IsFinished(lock, run) {
		return false, err
	}
	pod, err := s.podOf(ctx, namespace, lock, run)
	if err != nil {
		return false, err
	}
	gone, err := s.podGone(ctx, namespace, pod, lock.PodUID)
	return err == nil && decision.IsOver(lock, run, gone), err
}

// podOf is the name of the pod that holds a lock; empty when no pod has its UID any more.
func (s *Store) podOf(ctx context.Context, namespace string, lock *v1alpha1.Lock, run *v1alpha1.Run) (string, error) {
	if run != nil {
		holder := decision.Holder{Run: lock.Run, Attempt: lock.Attempt, PodUID: lock.PodUID}
		if a, rejection := decision.NamedAttempt(run, holder); rejection == nil {
			return a.Pod, nil
		}
	}
	// Nothing names the pod any more: list all pods. That is slow, and only for a Run that a user deleted.
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := s.live.List(ctx, pods, client.InNamespace(namespace), client.Limit(page), client.Continue(pods.Continue))
		if err != nil {
			return "", fmt.Errorf("list pods in %s: %w", namespace, err)
		}
		for _, pod := range pods.Items {
			if pod.UID == lock.PodUID {
				return pod.Name, nil
			}
		}
		if pods.Continue == "" {
			return "", nil
		}
	}
}

// podGone reports whether nothing of a pod can run anymore: the API server has none of that UID, or all its
// containers have ended. Deleting the object of a pod whose node is silent is the statement that the machine is off
// (decision 24).
func (s *Store) podGone(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	if name == "" {
		return true, nil
	}
	pod := &corev1.Pod{}
	err := s.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, pod)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	return pod.UID != uid || Ended(pod, true), nil
}

// Ended reports whether all containers of a pod have ended, according to its node. The phase alone does not prove
// it: Kubernetes' garbage collector writes Failed into a pod whose node it takes for gone, without asking it.
//
// reported: the runner reported at least once, as that of a lock's holder did. Then the node has to report of each
// container that it has ended. A kubelet that restarts and rejects a pod that it had accepted before writes Failed
// over all that it reported, and ends what runs afterwards. Of a pod that never reported, a kubelet that never
// accepted it reports the same.
func Ended(pod *corev1.Pod, reported bool) bool {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return false
	}
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
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

// HeldBy is the State whose lock a pod holds; nil when there is none. It is how a pod whose Run was deleted under it is
// still known.
func (s *Store) HeldBy(ctx context.Context, namespace string, pod types.UID) (*v1alpha1.State, error) {
	if pod == "" {
		return nil, nil
	}
	states := &v1alpha1.StateList{}
	for {
		err := s.live.List(ctx, states, client.InNamespace(namespace), client.Limit(page), client.Continue(states.Continue))
		if err != nil {
			return nil, fmt.Errorf("list States in %s: %w", namespace, err)
		}
		for i := range states.Items {
			if lock := states.Items[i].Status.Lock; lock != nil && lock.PodUID == pod {
				return &states.Items[i], nil
			}
		}
		if states.Continue == "" {
			return nil, nil
		}
	}
}
