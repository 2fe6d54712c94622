package operator

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readYourWritesTimeout is how long a read waits for the cache to have what was written before it.
const readYourWritesTimeout = 5 * time.Second

// boundedReadYourWrites is a client whose reads wait until the cache has what this process wrote, up to a timeout.
// After a new list the cache receives no events of objects that were created and deleted in between, and would wait
// forever. After the timeout a read returns what the cache has; reconcilers work with stale reads.
type boundedReadYourWrites struct {
	client.Client
	patience time.Duration
}

// Get reads an object.
func (c boundedReadYourWrites) Get(ctx context.Context, key client.ObjectKey, o client.Object,
	opts ...client.GetOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Client.Get(ctx, key, o, opts...) },
		func() error {
			return c.Client.Get(ctx, key, o, append(opts, client.DisableReadYourWritesConsistency)...)
		})
}

// List reads objects.
func (c boundedReadYourWrites) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Client.List(ctx, list, opts...) },
		func() error {
			return c.Client.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
		})
}

func (c boundedReadYourWrites) read(ctx context.Context, new func(context.Context) error, asItIs func() error) error {
	waiting, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if err := new(waiting); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	return asItIs()
}
