package dispatch

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/runinfo"
)

// RunsByPod finds Runs by the pods that they name.
type RunsByPod struct {
	// Cache has the Runs that are not finished, with index.PodField, and may lack others.
	Cache client.Reader
	// Live has all Runs.
	Live client.Reader
}

// ByPod returns the Run that names the pod in one of its attempts; nil when none does. A Run that the cache does not have, since it
// is finished or its pod was created a moment ago, is read from the API server: its name follows from that of the pod.
func (r RunsByPod) ByPod(ctx context.Context, pod types.NamespacedName, uid types.UID) (*v1alpha1.Run, error) {
	run, err := index.ByPod(ctx, r.Cache, pod.Namespace, uid)
	if run != nil || err != nil {
		return run, err
	}
	name := runinfo.RunOfPod(pod.Name)
	if name == "" {
		return nil, nil
	}
	run = &v1alpha1.Run{}
	err = r.Live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: name}, run)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Run %s/%s: %w", pod.Namespace, name, err)
	case !runinfo.NamesPod(run, uid):
		return nil, nil
	}
	return run, nil
}
