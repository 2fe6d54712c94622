package operator

import (
	"context"
	"time"
)

// settled is how long after its caches are filled a process has looked at all there is.
const settled = 30 * time.Second

// settle gives memory back to the system, once: to read ten thousand Stacks at a start takes twice what it takes to have them, and Go would
// keep much of that.
type settle struct {
	cache interface {
		WaitForCacheSync(ctx context.Context) bool
	}
	giveBack func()
}

// Start waits until the process has settled.
func (s settle) Start(ctx context.Context) error {
	if !s.cache.WaitForCacheSync(ctx) {
		return nil
	}
	timer := time.NewTimer(settled)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		s.giveBack()
	}
	return nil
}

// NeedLeaderElection says that every process does: one that waits to lead has its caches, too.
func (settle) NeedLeaderElection() bool { return false }
