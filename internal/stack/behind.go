package stack

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// When to look again at a Stack of which a newer version is on its way: for the first time, and at most. The version is an event too, which
// has the Stack looked at as soon as it is there.
const (
	minConflictBackoff = 100 * time.Millisecond
	maxConflictBackoff = 5 * time.Second
)

// NewConflictBackoff says when to look again at Stacks whose views are old: each time twice as late as before. While a watch is away each look may be one
// more write that is refused.
func NewConflictBackoff() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](minConflictBackoff, maxConflictBackoff)
}
