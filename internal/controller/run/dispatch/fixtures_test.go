package dispatch

import (
	"context"

	"cairn.dev/cairn/internal/controller/run/runtest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/runnerapi"
)

const imageDigest = runtest.ImageDigest

var now, built = runtest.Now, runtest.Built

// snapshot is that of a queued Run. The options change it.
func snapshot(options ...func(*decision.Snapshot)) decision.Snapshot {
	w := decision.Snapshot{Now: now, Stack: runtest.Stack(), Run: runtest.Run()}
	for _, o := range options {
		o(&w)
	}
	return w
}

func planning(w *decision.Snapshot) { runtest.Planning(w.Run) }
func planned(w *decision.Snapshot)  { runtest.Planned(w.Run) }
func applying(w *decision.Snapshot) { runtest.Applying(w.Run) }
func building(w *decision.Snapshot) { runtest.Building(w.Run) }
func inShell(w *decision.Snapshot)  { runtest.InShell(w.Run) }
func finished(w *decision.Snapshot) { runtest.Finished(w.Run) }

// noPolicies is the verdict where there are none to ask.
func noPolicies(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
	return nil, false, nil
}

// podSnapshot is snapshot with a Run that the API server has.
func podSnapshot() decision.Snapshot {
	return snapshot(func(w *decision.Snapshot) { runtest.Committed(w.Run) })
}

// waits has a plan wait for an approval.
func waits(w *decision.Snapshot) { w.Run.Status.Phase = v1alpha1.PhaseAwaitingApproval }

func planOnly(w *decision.Snapshot) { w.Run.Spec.Operation = v1alpha1.OperationPlan }
func destroy(w *decision.Snapshot)  { w.Run.Spec.Operation = v1alpha1.OperationDestroy }
func deleting(w *decision.Snapshot) { w.Stack.DeletionTimestamp = &metav1.Time{Time: now} }
