package stack

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// newSnapshot returns a snapshot of a Stack that had no Run yet, with changes.
func newSnapshot(changes ...func(*decision.Snapshot)) decision.Snapshot {
	limit := int32(10)
	w := decision.Snapshot{
		Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Stack: &v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 3, Finalizers: []string{v1alpha1.Finalizer}},
			Spec: v1alpha1.StackSpec{
				Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy, RunHistoryLimit: &limit,
				Retry: v1alpha1.Retry{MaxBackoff: &metav1.Duration{Duration: 10 * time.Minute}},
			},
		},
		Inputs: inputs.Document{Source: "sha256:code"},
		Digest: "sha256:now", Code: decision.Code{Revision: "sha256:code"},
	}
	w.Effective = w.Stack
	for _, change := range changes {
		change(&w)
	}
	return w
}

// withRun adds an apply of some inputs in a phase.
func withRun(name string, phase v1alpha1.RunPhase, digest string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) {
		r := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec = v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, InputsDigest: digest}
		r.Status = v1alpha1.RunStatus{Phase: phase, Plan: &v1alpha1.Plan{Changes: true, Add: 1},
			FinishedAt: &metav1.Time{Time: w.Now}}
		w.Runs, w.LastInputs = append(w.Runs, r), &inputs.Document{Source: "sha256:old code"}
	}
}

func withAppliedInputs(digest string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) { w.Stack.Status.AppliedInputsDigest = digest }
}

func withLastRun(name string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) { w.Stack.Status.LastRun = name }
}

// withReservedRun has an apply reserved in the status that was not created.
func withReservedRun(name string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) {
		w.Stack.Status.CurrentRun, w.Stack.Status.LastRun = name, name
		w.Stack.Status.ReservedRun = &v1alpha1.ReservedRun{Name: name, Operation: v1alpha1.OperationApply,
			Cause: v1alpha1.CauseSpec}
	}
}

func withReadyReason(reason string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) {
		apimeta.SetStatusCondition(&w.Stack.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
			Status: "Unknown", Reason: reason})
	}
}

func withDeletion(w *decision.Snapshot) { w.Stack.DeletionTimestamp = &metav1.Time{Time: w.Now} }

func withOrphanPolicy(w *decision.Snapshot) { w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
