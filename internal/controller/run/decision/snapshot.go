package decision

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot is all that Decide reads.
type Snapshot struct {
	Now time.Time
	// Run that is decided on.
	Run *v1alpha1.Run
	// Stack of the Run; nil when it is gone.
	Stack *v1alpha1.Stack
	// StackPolicies are all of the namespace, also those that do not select the Stack.
	StackPolicies []v1alpha1.StackPolicy
	// Older is the name of an older Run of the Stack that is not finished; it goes first.
	Older string
	// Pod of the current attempt.
	Pod Pod
	// Missing names an object that the next pod needs and that was not found; empty when all exist.
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
	// PodEnded: its containers have ended, as its node reports.
	PodEnded PodState = "Ended"
	// PodGone: the API server, asked directly, has no pod of that UID.
	PodGone PodState = "Gone"
)

// Pod is what is known of an attempt's pod.
type Pod struct {
	State PodState
	// Message is why it is pending or, in words that follow its name, why it is to end or how it ended.
	Message string
	// Detail is the message of its node or of Kubernetes about that.
	Detail string
	// Quiet is what a pending pod seems to wait for when nothing is reported.
	Quiet string
	// Patience is how long a pending pod may wait; 0 as long as the attempt may take.
	Patience time.Duration
	// Class of the failure when it does not start, or ended before its runner reported; empty is PodLost.
	Class v1alpha1.FailureClass
	// Reason of that failure, where the class is not specific enough.
	Reason v1alpha1.FailureReason
	// Image that its engine runs in, with the digest that its node reports; empty when the node reports none.
	Image string
	// Node that it was given to.
	Node string
	// Until is when it has to have ended.
	Until time.Time
	// SilentSince is since when its node does not answer; zero while it does.
	SilentSince time.Time
	// EndUnconfirmed reports whether its node reports its end, but not that of its containers.
	EndUnconfirmed bool
	// Stranded reports whether it ended with a state that is nowhere but in its log.
	Stranded bool
}
