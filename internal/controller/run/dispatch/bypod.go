package dispatch

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// rememberedRuns is how many finished Runs are kept for the last requests of their pods.
const rememberedRuns = 100

// RunsByPod finds Runs by the pods that they name.
type RunsByPod struct {
	cache, live client.Reader
	// finished are Runs by pod that the cache no longer has. What decides about their pods does not change any more.
	finished *lru.Cache[types.UID, *v1alpha1.Run]
}

// NewRunsByPod creates a RunsByPod. The cache has the Runs that are not finished, with index.PodField, and may lack
// others; live has all Runs.
func NewRunsByPod(cache, live client.Reader) *RunsByPod {
	return &RunsByPod{cache: cache, live: live, finished: weightedlru.Sized[types.UID, *v1alpha1.Run](rememberedRuns)}
}

// ByPod returns the Run that names the pod in one of its attempts; nil when none does. A Run that the cache does not
// have, since it is finished or its pod was created a moment ago, is read from the API server: its name follows from
// that of the pod. The Run is not to be changed. A finished one may have been deleted since.
func (r *RunsByPod) ByPod(ctx context.Context, pod types.NamespacedName, uid types.UID) (*v1alpha1.Run, error) {
	run, err := index.ByPod(ctx, r.cache, pod.Namespace, uid)
	if run != nil || err != nil {
		return run, err
	}
	if run, ok := r.finished.Get(uid); ok {
		return run, nil
	}
	name := runinfo.RunOfPod(pod.Name)
	if name == "" {
		return nil, nil
	}
	return r.read(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: name}, uid)
}

// read returns a Run if it names the pod.
func (r *RunsByPod) read(ctx context.Context, key types.NamespacedName, pod types.UID) (*v1alpha1.Run, error) {
	run := &v1alpha1.Run{}
	err := r.live.Get(ctx, key, run)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Run %s: %w", key, err)
	case !runinfo.NamesPod(run, pod):
		return nil, nil
	}
	r.remember(run, pod)
	return run, nil
}

// remember stores a copy of a Run for the last requests of its pod, if it is finished.
func (r *RunsByPod) remember(run *v1alpha1.Run, pod types.UID) {
	if r != nil && run.Status.Phase.Finished() {
		r.finished.Add(pod, run.DeepCopy())
	}
}

// forget removes what is remembered of a pod's Run.
func (r *RunsByPod) forget(pod types.UID) {
	if r != nil {
		r.finished.Remove(pod)
	}
}
