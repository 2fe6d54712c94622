package git

import (
	"context"
	"reflect"
	"slices"
	"sync"
)

// queue lets one fetch at a time run, and lets callers that want the same share one that has not begun. So each gets
// what the remote had after it asked, and a crowd costs two fetches at most.
type queue struct {
	turn chan struct{} // has one when a fetch runs

	mu      sync.Mutex
	waiting []*flight
}

// flight is a fetch, for all that share it.
type flight struct {
	remote  Remote
	o       FetchOptions
	callers int
	cancel  context.CancelFunc
	done    chan struct{} // closed when err is what came of it
	err     error
}

// join a flight that has not begun, or create one: then began is true, and the caller must run it.
func (q *queue) join(remote Remote, o FetchOptions, cancel context.CancelFunc) (f *flight, began bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.waiting {
		if reflect.DeepEqual(f.remote, remote) {
			f.callers++
			f.o.Commits = append(f.o.Commits, o.Commits...)
			return f, false
		}
	}
	o.Commits = slices.Clone(o.Commits)
	f = &flight{remote: remote, o: o, callers: 1, cancel: cancel, done: make(chan struct{})}
	q.waiting = append(q.waiting, f)
	return f, true
}

// leave a flight. The last that leaves ends it.
func (q *queue) leave(f *flight) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f.callers--; f.callers == 0 {
		f.cancel()
		q.close(f)
	}
}

// begin waits for the flight's turn, which it then has if there is no error. From then on no caller joins it.
func (q *queue) begin(ctx context.Context, f *flight) error {
	var err error
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.close(f)
	return err
}

// close the door of a flight.
func (q *queue) close(f *flight) {
	q.waiting = slices.DeleteFunc(q.waiting, func(other *flight) bool { return other == f })
}
