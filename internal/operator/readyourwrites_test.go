package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// staleClient is a client whose cache receives no events.
type staleClient struct{ client.Client }

func (staleClient) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, opts ...client.GetOption) error {
	if (&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (staleClient) List(ctx context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestReadWaitsForAWriteForALimitedTime checks a cache that does not receive a write. A canceled context ends the wait
// earlier.
func TestReadWaitsForAWriteForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := boundedReadYourWrites{staleClient{}, readYourWritesTimeout}
		for name, read := range map[string]func(context.Context) error{
			"get":  func(ctx context.Context) error { return c.Get(ctx, client.ObjectKey{}, &v1alpha1.Run{}) },
			"list": func(ctx context.Context) error { return c.List(ctx, &v1alpha1.RunList{}) },
		} {
			began := time.Now()
			if err := read(t.Context()); err != nil || time.Since(began) != readYourWritesTimeout {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
			ctx, cancel := context.WithTimeout(t.Context(), readYourWritesTimeout/2)
			if err := read(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
	})
}
