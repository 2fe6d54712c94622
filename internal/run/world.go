// Package run is the Run's room: what comes next for a Run is decided here, purely, from a World that the reconciler,
// or the server when a runner reports, gathers.
package run

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/store"
)

// World is all that Decide looks at.
type World struct {
	Now time.Time
	// Run that is decided on.
	Run *v1alpha1.Run
	// Stack of the Run; nil when it is gone.
	Stack *v1alpha1.Stack
	// Older is the name of an older Run of the Stack that is not finished; it goes first.
	Older string
	// Pod of the current attempt.
	Pod Pod
	// Missing names an object that the next pod needs and that is not there; empty when all are.
	Missing string
}

// PodState is what is known of an attempt's pod. Unknown is unknown: never taken for gone.
type PodState string

// What is known of an attempt's pod.
const (
	PodUnknown PodState = ""
	PodPending PodState = "Pending"
	PodRunning PodState = "Running"
	// PodLeaving: it is being deleted; its engine saves what it has.
	PodLeaving PodState = "Leaving"
	// PodEnded: its containers have ended.
	PodEnded PodState = "Ended"
	// PodGone: the API server, asked directly, has no pod of that UID.
	PodGone PodState = "Gone"
)

// Pod is what is known of an attempt's pod.
type Pod struct {
	State PodState
	// Message says why it is pending, or how it ended.
	Message string
	// Stranded says that it ended with a state that is nowhere but in its log.
	Stranded bool
	// Broken says that a pending pod cannot start with the objects as they are: a value it needs is missing.
	Broken bool
}

// current is the attempt that the Run is at; nil before the first.
func current(s *v1alpha1.RunStatus) *v1alpha1.Attempt {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[len(s.Attempts)-1]
}

// Active is the attempt that the pod is working on now; nil when it is none of this Run's, or its attempt is over.
func Active(run *v1alpha1.Run, pod types.UID) *v1alpha1.Attempt {
	a := current(&run.Status)
	if a == nil || a.PodUID != pod || a.FinishedAt != nil {
		return nil
	}
	return a
}

// observePod tells a pod's state from its object; gone says that the API server has none of that UID.
func observePod(pod *corev1.Pod, gone bool) Pod {
	switch {
	case gone:
		return Pod{State: PodGone, Message: "the pod was deleted"}
	case pod == nil:
		return Pod{State: PodUnknown}
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return Pod{State: PodEnded, Message: endOf(pod), Stranded: exitedWith(pod, store.ExitStranded)}
	case pod.DeletionTimestamp != nil:
		return Pod{State: PodLeaving}
	case pod.Status.Phase == corev1.PodRunning:
		return Pod{State: PodRunning}
	case pod.Status.Phase == corev1.PodPending:
		reason, message := waitingFor(pod)
		p := Pod{State: PodPending, Broken: reason == "CreateContainerConfigError" || reason == "InvalidImageName"}
		if reason != "" {
			p.Message = reason + ": " + message
		}
		return p
	default:
		return Pod{State: PodUnknown}
	}
}

// IsDriftCheck says that a Run only looks for drift.
func IsDriftCheck(run *v1alpha1.Run) bool {
	return run.Spec.Cause.Type == v1alpha1.CauseDrift && run.Spec.Operation == v1alpha1.OperationPlan
}
