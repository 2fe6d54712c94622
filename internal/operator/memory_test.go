package operator

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// filledAt is a cache that is synced after a time.
type filledAt time.Duration

func (f filledAt) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(f)):
		return true
	}
}

func TestMemoryIsFreedAfterCacheSync(t *testing.T) {
	for name, tt := range map[string]struct {
		ends time.Duration
		want int
	}{"freed a second time": {time.Hour, 2}, "freed once": {2 * time.Minute, 1},
		"not freed during the sync": {30 * time.Second, 0}, "not freed right after the sync": {80 * time.Second, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				times := 0
				if err := (memoryReleaser{filledAt(time.Minute), func() { times++ }}).Start(ctx); err != nil ||
					times != tt.want {
					t.Errorf("%d times, %v", times, err)
				}
			})
		})
	}
}

func TestMemoryLimitIsFourFifthsOfTheCgroup(t *testing.T) {
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	defer debug.SetMemoryLimit(limit())
	file := filepath.Join(t.TempDir(), "memory.max")
	for _, tt := range []struct {
		name, text, env string
		want            int64
	}{
		{"a limit", "1000000000\n", "", 800_000_000},
		{"no limit", "max\n", "", 1 << 40},
		{"no number", "\n", "", 1 << 40},
		{"a limit in the environment", "1000000000\n", "1TiB", 1 << 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", tt.env)
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			debug.SetMemoryLimit(1 << 40)
			if limitMemory(file); limit() != tt.want {
				t.Errorf("the limit is %d", limit())
			}
		})
	}
	debug.SetMemoryLimit(1 << 40)
	if limitMemory(file + ".none"); limit() != 1<<40 {
		t.Errorf("without cgroup v2 the limit is %d", limit())
	}
}

func TestGCPercentIsLowDuringCacheSync(t *testing.T) {
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
