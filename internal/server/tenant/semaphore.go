// Package tenant keeps namespaces apart that share a server.
package tenant

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Semaphore limits memory, or another shared resource, in total and for each namespace, so that no namespace blocks the
// others.
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

// NewSemaphore creates a Semaphore of size all, of which each namespace can hold at most share. What is no larger than
// small counts for its namespace alone.
func NewSemaphore(all, most, small int64) *Semaphore {
	return &Semaphore{all: semaphore.NewWeighted(all), most: most, small: small, parts: map[string]*part{}}
}

// longestWait is how long Acquire waits. It leaves time for the response to the shortest requests, of
// httpapi.ShortTimeout.
const longestWait = 20 * time.Second

// Busy is the error of an Acquire that waited as long as it may. The same call can succeed later.
type Busy struct {
	// Namespace whose requests use the resource; empty if those of all namespaces do.
	Namespace string
}

func (e *Busy) Error() string {
	if e.Namespace == "" {
		return fmt.Sprintf("other requests use the memory that this one needs, and did not end in %s", longestWait)
	}
	return fmt.Sprintf("other requests of namespace %s use the memory that this one needs, and did not end in %s",
		e.Namespace, longestWait)
}

// Acquire waits until size is free for a namespace, as long as longestWait; then the error is a Busy. The returned
// function releases it. A size above the share of a namespace takes all of the share. A caller that holds a part of the
// Semaphore must not acquire another part: two such callers wait for each other, and a single one for itself.
func (r *Semaphore) Acquire(ctx context.Context, namespace string, size int64) (func(), error) {
	size = min(size, r.most)
	own := r.part(namespace)
	// A request whose body is not read does not end with its client, so ctx alone is no limit.
	waiting, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	if own.left.Acquire(waiting, size) != nil {
		r.leave(namespace, own)
		return nil, busy(ctx, namespace)
	}
	free := func() {
		own.left.Release(size)
		r.leave(namespace, own)
	}
	if size <= r.small {
		return free, nil
	}
	if r.all.Acquire(waiting, size) != nil {
		free()
		return nil, busy(ctx, "")
	}
	return func() {
		r.all.Release(size)
		free()
	}, nil
}

// busy returns the error of an Acquire that ended without success: that of ctx if the caller ended it.
func busy(ctx context.Context, namespace string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &Busy{Namespace: namespace}
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
