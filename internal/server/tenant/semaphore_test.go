package tenant

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestNamespaceThatHoldsNothingIsRemoved(t *testing.T) {
	r := NewSemaphore(10, 5, 1)
	free, err := r.Acquire(t.Context(), "shop", 3)
	if err != nil {
		t.Fatal(err)
	}
	free()
	if len(r.parts) != 0 {
		t.Errorf("%d namespaces are remembered", len(r.parts))
	}
}

func TestAWaitEndsAndNamesWhoseRequestsItWaitedFor(t *testing.T) {
	for name, test := range map[string]struct{ holder, waiter, want string }{
		"its own namespace": {"shop", "shop", "shop"},
		"other namespaces":  {"shop", "web", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewSemaphore(5, 5, 1)
				free, err := r.Acquire(t.Context(), test.holder, 5)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = r.Acquire(context.WithoutCancel(t.Context()), test.waiter, 2)
				busy, ok := errors.AsType[*Busy](err)
				if !ok || busy.Namespace != test.want || time.Since(began) != longestWait {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				free()
				if free, err = r.Acquire(t.Context(), test.waiter, 5); err != nil {
					t.Fatal(err)
				}
				free()
				if len(r.parts) != 0 {
					t.Errorf("%d namespaces are remembered", len(r.parts))
				}
			})
		})
	}
}

func TestAWaitEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewSemaphore(5, 5, 1)
		if _, err := r.Acquire(t.Context(), "shop", 5); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Acquire(ctx, "shop", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
