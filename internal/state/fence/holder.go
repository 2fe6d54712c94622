package fence

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/state/decision"
)

// Page is how many objects are listed at once.
const Page = 500

// IsOver finds out whether the holder of a lock is over. An error means that it is not known, which does not count
// as over.
func (f *Fence) IsOver(ctx context.Context, namespace string, lock *v1alpha1.Lock) (bool, error) {
	if lock.PodUID == "" {
		return false, nil
	}
	run, err := f.Run(ctx, namespace, lock.Run)
	if err != nil || !decision.IsFinished(lock, run) {
		return false, err
	}
	pod, err := f.PodOf(ctx, namespace, lock, run)
	if err != nil {
		return false, err
	}
	gone, err := f.PodGone(ctx, namespace, pod, lock.PodUID)
	return err == nil && decision.IsOver(lock, run, gone), err
}

// PodOf is the name of the pod that holds a lock; empty when no pod has its UID any more.
func (f *Fence) PodOf(ctx context.Context, namespace string, lock *v1alpha1.Lock, run *v1alpha1.Run) (string, error) {
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
		err := f.Live.List(ctx, pods, client.InNamespace(namespace), client.Limit(Page), client.Continue(pods.Continue))
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

// PodGone reports whether nothing of a pod can run anymore: the API server has none of that UID, or all its
// containers have ended. Deleting the object of a pod whose node is silent is the statement that the machine is off
// (decision 24).
func (f *Fence) PodGone(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	if name == "" {
		return true, nil
	}
	pod := &corev1.Pod{}
	err := f.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, pod)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	return pod.UID != uid || runinfo.PodEnded(pod, true), nil
}
