package dispatch

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// Interrupt waits until an attempt of the pod has to stop, and returns why. The reason is empty when ctx is done before
// that, or the attempt is over.
func (o *Orders) Interrupt(
	ctx context.Context, pod types.NamespacedName, uid types.UID, attempt int32,
) (runnerapi.Interrupt, error) {
	changed, cancel := o.changes.Subscribe(uid) // before the first read, so that no change is missed
	defer cancel()
	for {
		run, err := o.Runs.ByPod(ctx, pod, uid)
		if err != nil {
			return runnerapi.Interrupt{}, err
		}
		if run != nil {
			reason, over := interruptOf(run, uid, attempt)
			if reason != "" || over {
				return runnerapi.Interrupt{Reason: reason}, nil
			}
		}
		select {
		case <-ctx.Done():
			return runnerapi.Interrupt{}, nil
		case <-changed:
		}
	}
}

// interruptOf returns why an attempt of a pod is to stop, if it is, and whether there is nothing left to stop.
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
