package operator

import (
	"context"
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
	}{"once": {time.Hour, 1}, "not while it reads": {30 * time.Second, 0}, "nor while it looks": {80 * time.Second, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				times := 0
				if err := (settle{filledAt(time.Minute), func() { times++ }}).Start(ctx); err != nil || times != tt.want {
					t.Errorf("%d times, %v", times, err)
				}
			})
		})
	}
}
