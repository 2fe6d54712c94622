// Package run is the Run's room: what comes next for a Run is decided here, purely, from a World that the reconciler,
// or the server when a runner reports, gathers.
package run

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
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
	// ImageKey names the image that is built for the Run to run in; empty when none is.
	ImageKey string
}

// PodState is what is known of an attempt's pod. Unknown is unknown: never taken for gone.
type PodState string

// What is known of an attempt's pod.
const (
	PodUnknown PodState = ""
	PodPending PodState = "Pending"
	PodRunning PodState = "Running"
	// PodTerminating: it is to end; its engine saves what it has.
	PodTerminating PodState = "Leaving"
	// PodEnded: its containers have ended, as its node says.
	PodEnded PodState = "Ended"
	// PodGone: the API server, asked directly, has no pod of that UID.
	PodGone PodState = "Gone"
)

// Pod is what is known of an attempt's pod.
type Pod struct {
	State PodState
	// Message says why it is pending or, in words that follow its name, why it is to end or how it ended.
	Message string
	// Detail is what its node or Kubernetes says of that.
	Detail string
	// Quiet says what a pending pod seems to wait for of which nothing is said.
	Quiet string
	// Patience is how long a pending pod may go on to wait; 0 as long as the attempt may take.
	Patience time.Duration
	// Class of the failure when it does not start, or ended before its runner reported; empty is PodLost.
	Class v1alpha1.FailureClass
	// Node that it was given to.
	Node string
	// Until is when it has to have ended.
	Until time.Time
	// SilentSince is since when its node does not answer; zero while it does.
	SilentSince time.Time
	// Untold says that its node takes it for ended and does not say so of its containers.
	Untold bool
	// Stranded says that it ended with a state that is nowhere but in its log.
	Stranded bool
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

// isGone is what is said of a pod that is gone.
const isGone = "is gone"

// heard says that a runner in the pod of an attempt has reported something.
func heard(run *v1alpha1.Run, a *v1alpha1.Attempt) bool {
	return slices.ContainsFunc(run.Status.Attempts, func(b v1alpha1.Attempt) bool { return b.PodUID == a.PodUID && len(b.Steps) > 0 })
}

// observePod tells a pod's state from its object; gone says that the API server has none of that UID, and heard that its runner
// has reported something.
func observePod(pod *corev1.Pod, gone, heard bool) Pod {
	switch {
	case gone:
		return Pod{State: PodGone, Message: isGone}
	case pod == nil:
		return Pod{State: PodUnknown}
	case state.Ended(pod, heard):
		return observeEnd(pod)
	case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return observeLeaving(pod)
	case pod.Status.Phase == corev1.PodRunning:
		return Pod{State: PodRunning, Node: pod.Spec.NodeName, SilentSince: silentSince(pod)}
	case pod.Status.Phase == corev1.PodPending:
		return observePending(pod)
	default:
		return Pod{State: PodUnknown}
	}
}
