package release

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cairn.dev/cairn/internal/base/download"
)

// cache fetches each value once at a time, for all callers, and keeps the result for a while.
type cache[T any] struct {
	now func() time.Time
	// age is how long a result is kept; 0 is not at all.
	age func(error) time.Duration
	// timeout is how long one fetch may take.
	timeout time.Duration

	group   *download.Group
	mu      sync.Mutex
	results map[string]result[T]
}

// result is what came of a fetch.
type result[T any] struct {
	value   T
	err     error
	expires time.Time
}

func newCache[T any](now func() time.Time, timeout time.Duration, age func(error) time.Duration) *cache[T] {
	return &cache[T]{now: now, age: age, timeout: timeout, group: download.NewGroup(), results: map[string]result[T]{}}
}

// get returns what is cached under a name, or fetches it. When ctx is over it no longer waits; the fetch continues.
func (c *cache[T]) get(ctx context.Context, name string, fetch func(context.Context) (T, error)) (T, error) {
	if r, ok := c.cached(name); ok {
		return r.value, r.err
	}
	value, err := download.Do(ctx, c.group, name, func(ctx context.Context) (T, error) {
		if r, ok := c.cached(name); ok { // since the caller asked
			return r.value, r.err
		}
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		value, err := fetch(ctx)
		c.put(name, value, err)
		return value, err
	})
	if errors.Is(err, download.ErrClosed) {
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return value, err
}

func (c *cache[T]) cached(name string) (result[T], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.results[name]
	return r, ok && c.now().Before(r.expires)
}

func (c *cache[T]) put(name string, value T, err error) {
	age := c.age(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.results, name)
	if age > 0 {
		c.results[name] = result[T]{value, err, c.now().Add(age)}
	}
}

// close cancels all fetches and waits for them.
func (c *cache[T]) close() { c.group.Close() }
