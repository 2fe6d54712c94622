package operator

import (
	"context"
	"runtime/debug"
	"time"
)

// settled is how long after its caches are filled a process has looked at all there is: nearly always, and on a machine that has much else to do.
var settled = []time.Duration{30 * time.Second, 5 * time.Minute}

// gcWhileReading is how many percent of what is in use may be garbage before it is collected, until a process has settled: it is 100 afterwards.
// What stays and what does not are read side by side, so each kilobyte of garbage that is waited for is a hole in what stays, and is never given back.
const gcWhileReading = 50

// collectSooner has garbage collected sooner until it is told otherwise. Who has set GOGC to less, or to off, wants that.
func collectSooner() (asBefore func()) {
	was := debug.SetGCPercent(gcWhileReading)
	if was < gcWhileReading {
		debug.SetGCPercent(was)
	}
	return func() { debug.SetGCPercent(was) }
}

// settle gives memory back to the system: to read ten thousand Stacks at a start takes twice what it takes to have them, and Go would keep much
// of that.
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
	filled := time.Now()
	for _, after := range settled {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(filled.Add(after))):
			s.giveBack()
		}
	}
	return nil
}

// NeedLeaderElection says that every process does: one that waits to lead has its caches, too.
func (settle) NeedLeaderElection() bool { return false }
