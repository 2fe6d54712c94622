package diagnosis

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/runtest"
)

var now, micro = runtest.Now, runtest.Micro

// snapshot is that of a queued Run. The options change it.
func snapshot(options ...func(*decision.Snapshot)) decision.Snapshot {
	w := decision.Snapshot{Now: now, Stack: runtest.Stack(), Run: runtest.Run()}
	for _, o := range options {
		o(&w)
	}
	return w
}

func planning(w *decision.Snapshot)  { runtest.Planning(w.Run) }
func applying(w *decision.Snapshot)  { runtest.Applying(w.Run) }
func cancel(w *decision.Snapshot)    { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }
func changed(w *decision.Snapshot)   { w.Stack.Status.InputsDigest = "sha256:other" }
func stackGone(w *decision.Snapshot) { w.Stack = nil }
func suspended(w *decision.Snapshot) { w.Stack.Spec.Suspend = true }

// ownPod is an apply in a pod of its own.
func ownPod(w *decision.Snapshot) { attempt(w).Pod = "net-7-apply-2" }

// reported is an attempt whose runner has reported a step.
func reported(w *decision.Snapshot) {
	attempt(w).Steps = []v1alpha1.Step{{Name: "apply", State: v1alpha1.StepRunning}}
}

func failed(class v1alpha1.FailureClass) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) { runtest.Failed(class)(w.Run) }
}

func later(d time.Duration) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) { w.Now = w.Now.Add(d) }
}

func pod(state decision.PodState) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) { w.Pod = decision.Pod{State: state, Message: "so it is"} }
}

// attempt is the current one.
func attempt(w *decision.Snapshot) *v1alpha1.Attempt {
	return &w.Run.Status.Attempts[len(w.Run.Status.Attempts)-1]
}
