// Package tenant keeps namespaces apart that share a server.
package tenant

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Semaphore limits memory, or another shared resource, in total and for each namespace, so that no namespace blocks the others.
type Semaphore struct {
	all *semaphore.Weighted
	// most is the part of a namespace. What is no larger than small counts for that alone.
	most, small int64

	mu    sync.Mutex
	parts map[string]*part
}

// part is what a namespace has. It exists while it is in use.
type part struct {
	left  *semaphore.Weighted
	users int
}

// NewSemaphore creates a Semaphore of size all, of which each namespace can hold at most share. What is no larger than small counts for
// its namespace alone.
func NewSemaphore(all, most, small int64) *Semaphore {
	return &Semaphore{all: semaphore.NewWeighted(all), most: most, small: small, parts: map[string]*part{}}
}

// Acquire waits until size is free for a namespace. The returned function releases it. A size above the share of a namespace takes all
// of the share.
func (r *Semaphore) Acquire(ctx context.Context, namespace string, size int64) (func(), error) {
	size = min(size, r.most)
	own := r.part(namespace)
	if err := own.left.Acquire(ctx, size); err != nil {
		r.leave(namespace, own)
		return nil, err
	}
	free := func() {
		own.left.Release(size)
		r.leave(namespace, own)
	}
	if size <= r.small {
		return free, nil
	}
	if err := r.all.Acquire(ctx, size); err != nil {
		free()
		return nil, err
	}
	return func() {
		r.all.Release(size)
		free()
	}, nil
}

func (r *Semaphore) part(namespace string) *part {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.parts[namespace]
	if own == nil {
		own = &part{left: semaphore.NewWeighted(r.most)}
		r.parts[namespace] = own
	}
	own.users++
	return own
}

func (r *Semaphore) leave(namespace string, own *part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(r.parts, namespace)
	}
}
