package operator

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a read waits for the cache to have what was written before it.
const patience = 5 * time.Second

// patient is a client whose reads wait until the cache has what the process wrote, but not for ever: a cache that made its list anew hears
// nothing of what came and went meanwhile. Then it is read as it is, as every view may be old: no pass relies on its being new.
type patient struct {
	client.Client
	patience time.Duration
}

// Get reads an object.
func (c patient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Client.Get(ctx, key, o, opts...) },
		func() error {
			return c.Client.Get(ctx, key, o, append(opts, client.DisableReadYourWritesConsistency)...)
		})
}

// List reads objects.
func (c patient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Client.List(ctx, list, opts...) },
		func() error {
			return c.Client.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
		})
}

func (c patient) read(ctx context.Context, new func(context.Context) error, asItIs func() error) error {
	waiting, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if err := new(waiting); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	return asItIs()
}
