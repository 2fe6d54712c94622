package release

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// flights does each piece of work once at a time, whoever asks for it, and to its end even when all who asked have left:
// what they come back for is then there. Its owner closes it.
type flights[T any] struct {
	now func() time.Time
	// keep is how long a result counts for those who ask later; 0 only for those who wait.
	keep func(error) time.Duration
	// limit is how long a piece of work may take.
	limit time.Duration

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex // guards what follows, and that nothing starts once ctx is done
	all     map[string]*flight[T]
}

// flight is one piece of work. All but done is written before done is closed, and read after.
type flight[T any] struct {
	done   chan struct{}
	result T
	err    error
	until  time.Time
}

func newFlights[T any](now func() time.Time, limit time.Duration, keep func(error) time.Duration) *flights[T] {
	f := &flights[T]{now: now, keep: keep, limit: limit, all: map[string]*flight[T]{}}
	f.ctx, f.stop = context.WithCancel(context.Background()) //nolint:gosec // close calls it
	return f
}

// do gives the result of the work of that name. When ctx is done it no longer waits; the work goes on.
func (f *flights[T]) do(ctx context.Context, name string, work func(context.Context) (T, error)) (T, error) {
	var none T
	one, err := f.join(name, work)
	if err != nil {
		return none, err
	}
	select {
	case <-one.done:
		return one.result, one.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// join gives the flight of that name that is under way or counts still, or begins one.
func (f *flights[T]) join(name string, work func(context.Context) (T, error)) (*flight[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, f.ctx.Err())
	}
	if one, ok := f.all[name]; ok {
		select {
		case <-one.done:
			if f.now().Before(one.until) {
				return one, nil
			}
		default:
			return one, nil
		}
	}
	one := &flight[T]{done: make(chan struct{})}
	f.all[name] = one
	f.running.Go(func() {
		ctx, cancel := context.WithTimeout(f.ctx, f.limit)
		defer cancel()
		one.result, one.err = work(ctx)
		f.land(name, one)
	})
	return one, nil
}

func (f *flights[T]) land(name string, one *flight[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keep := f.keep(one.err)
	one.until = f.now().Add(keep)
	if keep <= 0 {
		delete(f.all, name)
	}
	close(one.done)
}

// close breaks off all work and waits for it.
func (f *flights[T]) close() {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	f.running.Wait()
}
