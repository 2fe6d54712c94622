package stack

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// When to reconcile a Stack again whose newer version has not arrived: for the first time, and at most. The version is
// an event too, so the Stack is reconciled as soon as it is there.
const (
	minConflictBackoff = 100 * time.Millisecond
	maxConflictBackoff = 5 * time.Second
	// maxSilentConflicts is how many conflicts in a row are not reported as errors. It takes about a minute until then.
	maxSilentConflicts = 15
)

// NewConflictBackoff is when to reconcile Stacks again whose cached version is old: each time twice as late as before.
// While a watch is broken each reconcile may be one more write that is rejected.
func NewConflictBackoff() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](minConflictBackoff, maxConflictBackoff)
}
