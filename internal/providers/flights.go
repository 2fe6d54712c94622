package providers

import (
	"context"
	"errors"
	"sync"
)

// flights are the things under way that several may wait for. They outlive who asked for them, because he asks again,
// and end with the Mirror, which waits for them.
type flights struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	flying map[string]*flight
}

type flight struct {
	landed chan struct{}
	value  any
	err    error
}

func (f *flights) begin() {
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.flying = map[string]*flight{}
}

func (f *flights) end() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.work.Wait()
}

// join gives the flight of a name; it begins when there is none yet.
func (f *flights) join(name string, do func(context.Context) (any, error)) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the mirror of providers is closed")
	}
	if there := f.flying[name]; there != nil {
		return there, nil
	}
	begun := &flight{landed: make(chan struct{})}
	f.flying[name] = begun
	f.work.Go(func() {
		begun.value, begun.err = do(f.ctx)
		f.mu.Lock()
		delete(f.flying, name)
		f.mu.Unlock()
		close(begun.landed)
	})
	return begun, nil
}

// fly does something once for all who ask for it by that name at the same time. An asker whose ctx is over waits no
// longer; what he asked for goes on.
func fly[T any](ctx context.Context, f *flights, name string, do func(context.Context) (T, error)) (T, error) {
	var none T
	joined, err := f.join(name, func(ctx context.Context) (any, error) { return do(ctx) })
	if err != nil {
		return none, err
	}
	select {
	case <-joined.landed:
		value, _ := joined.value.(T)
		return value, joined.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
