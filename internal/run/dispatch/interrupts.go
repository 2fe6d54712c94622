package dispatch

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/decision"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// Interrupt waits until an attempt of the pod is to stop, and says why. It says nothing when the attempt goes on until ctx
// is done, or is over.
func (o *Orders) Interrupt(ctx context.Context, namespace string, pod types.UID, attempt int32) (runnerapi.Interrupt, error) {
	for {
		said, again, err := o.waitInterrupt(ctx, namespace, pod, attempt)
		if !again {
			return said, err
		}
	}
}

func (o *Orders) waitInterrupt(ctx context.Context, namespace string, pod types.UID, attempt int32) (said runnerapi.Interrupt, again bool, err error) {
	changed, leave := o.watch(pod) // before looking, as above
	defer leave()
	run, err := index.ByPod(ctx, o.Client, namespace, pod)
	if err != nil {
		return said, false, err
	}
	if run != nil {
		reason, over := interruptOf(run, pod, attempt)
		if reason != "" || over {
			return runnerapi.Interrupt{Reason: reason}, false, nil
		}
	}
	select {
	case <-ctx.Done():
		return said, false, nil
	case <-changed:
		return said, true, nil
	}
}

// interruptOf says why an attempt of a pod is to stop, if it is, and whether there is nothing left to stop.
func interruptOf(run *v1alpha1.Run, pod types.UID, attempt int32) (reason string, over bool) {
	a := runinfo.Current(&run.Status)
	switch {
	case a == nil || a.Number < attempt: // an old view of the Run
		return "", false
	case a.Number != attempt || a.PodUID != pod || a.FinishedAt != nil:
		return "", true
	}
	return decision.InterruptReason(run), false
}
