package operator

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// filledAt is a cache that is filled at some time.
type filledAt time.Duration

func (f filledAt) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(f)):
		return true
	}
}

func TestMemoryIsGivenBackOnceAllIsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		ends time.Duration
		want int
	}{"and once more": {time.Hour, 2}, "once": {2 * time.Minute, 1}, "not while it reads": {30 * time.Second, 0}, "nor while it looks": {80 * time.Second, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				times := 0
				if err := (memoryReleaser{filledAt(time.Minute), func() { times++ }}).Start(ctx); err != nil || times != tt.want {
					t.Errorf("%d times, %v", times, err)
				}
			})
		})
	}
}

func TestGarbageIsCollectedSoonerWhileAllIsRead(t *testing.T) {
	percent := func() int {
		is := debug.SetGCPercent(100)
		debug.SetGCPercent(is)
		return is
	}
	defer debug.SetGCPercent(percent())
	for was, want := range map[int]int{100: 50, 400: 50, 20: 20, -1: -1} {
		debug.SetGCPercent(was)
		asBefore := collectEagerly()
		if got := percent(); got != want {
			t.Errorf("with GOGC=%d it is %d", was, got)
		}
		if asBefore(); percent() != was {
			t.Errorf("with GOGC=%d it is %d afterwards", was, percent())
		}
	}
}
