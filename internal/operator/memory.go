package operator

import (
	"context"
	"runtime/debug"
	"time"
)

// releaseAfter are the times after the caches have synced at which memory is returned: when all objects are reconciled, and on a slow machine.
var releaseAfter = []time.Duration{30 * time.Second, 5 * time.Minute}

// gcPercentAtStart is the GC target percentage until the first objects are reconciled; it is 100 afterwards. Garbage between the objects that stay
// is memory that is never returned to the system.
const gcPercentAtStart = 50

// collectEagerly lowers the GC target percentage until restore is called. A lower GOGC, or off, is kept.
func collectEagerly() (restore func()) {
	was := debug.SetGCPercent(gcPercentAtStart)
	if was < gcPercentAtStart {
		debug.SetGCPercent(was)
	}
	return func() { debug.SetGCPercent(was) }
}

// memoryReleaser returns memory to the system after a start: reading ten thousand Stacks takes twice the memory that they take in the cache, and Go
// would keep much of it.
type memoryReleaser struct {
	cache interface {
		WaitForCacheSync(ctx context.Context) bool
	}
	release func()
}

// Start releases memory when the caches have synced and the times of releaseAfter have passed.
func (s memoryReleaser) Start(ctx context.Context) error {
	if !s.cache.WaitForCacheSync(ctx) {
		return nil
	}
	filled := time.Now()
	for _, after := range releaseAfter {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(filled.Add(after))):
			s.release()
		}
	}
	return nil
}

// NeedLeaderElection is false: a process that is not the leader has caches, too.
func (memoryReleaser) NeedLeaderElection() bool { return false }
