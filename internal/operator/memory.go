package operator

import (
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// releaseAfter are the times after the caches have synced at which memory is returned: when all objects are reconciled,
// and on a slow machine.
var releaseAfter = []time.Duration{30 * time.Second, 5 * time.Minute}

// gcPercentAtStart is the GC target percentage until the first objects are reconciled; it is 100 afterwards. Garbage
// between the objects that stay is memory that is never returned to the system.
const gcPercentAtStart = 50

// collectEagerly lowers the GC target percentage until restore is called. A lower GOGC, or off, is kept.
func collectEagerly() (restore func()) {
	was := debug.SetGCPercent(gcPercentAtStart)
	if was < gcPercentAtStart {
		debug.SetGCPercent(was)
	}
	return func() { debug.SetGCPercent(was) }
}

// cgroupMemory has the memory limit of the container in cgroup v2: bytes, or "max".
const cgroupMemory = "/sys/fs/cgroup/memory.max"

// limitMemory sets the memory limit of the Go runtime to four fifths of the container's, so that garbage is collected
// before the kernel ends the process; the rest is for git and other programs that it starts. GOMEMLIMIT is kept.
func limitMemory(file string) {
	text, err := os.ReadFile(file)
	if err != nil || os.Getenv("GOMEMLIMIT") != "" {
		return // no cgroup v2
	}
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
		debug.SetMemoryLimit(limit / 5 * 4)
	}
}

// memoryReleaser returns memory to the system after a start: reading ten thousand Stacks takes twice the memory that
// they take in the cache, and Go would keep much of it.
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
