package source

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
)

const (
	// packsAtOnce is how many archives that need the network are created at once, for each namespace.
	packsAtOnce = 2
	// packFor is how long one may take, and packAgain when one that failed is tried again.
	packFor   = 10 * time.Minute
	packAgain = time.Minute
)

// NotPacked reports that an archive is being created, or could not be created for a transient reason.
type NotPacked struct {
	why   error
	Again time.Duration
}

func (e *NotPacked) Error() string {
	if e.why == nil {
		return "submodules and LFS files are being fetched"
	}
	return e.why.Error()
}

func (e *NotPacked) Unwrap() error { return e.why }

// packs creates archives that need the network: a remote that does not answer must not hold up a reconcile.
type packs struct {
	ended chan repository.Event

	mu    sync.Mutex
	all   map[string]*packing
	slots map[string]*semaphore.Weighted

	running context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// packing is one archive that is being created, or could not be created.
type packing struct {
	waiting map[types.NamespacedName]bool
	ask     repository.Ask
	err     error
	at      time.Time
}

func newPacks() *packs {
	running, stop := context.WithCancel(context.Background())
	return &packs{
		ended: make(chan repository.Event, 1000), all: map[string]*packing{}, slots: map[string]*semaphore.Weighted{},
		running: running, stop: stop,
	}
}

func (p *packs) start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.work.Wait()
	return nil
}

// pack begins to create the archive of a key, or returns its result. When the archive is created the caller gets an
// event, and does not poll. A failure is retried at once for another spec of the Repository or a request on it.
func (p *packs) pack(stack types.NamespacedName, key string, ask repository.Ask, do func(context.Context) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	// A failure is retried after a while, or never: once a branch moved, no Stack needs its earlier commit.
	maps.DeleteFunc(p.all, func(_ string, one *packing) bool { return one.err != nil && now.Sub(one.at) >= packAgain })
	one := p.all[key]
	if one != nil && one.err != nil && one.ask != ask {
		one = nil
	}
	if one != nil && one.err != nil {
		if code.Reason(one.err) != "" {
			return one.err
		}
		return &NotPacked{one.err, packAgain - now.Sub(one.at)}
	}
	if one == nil {
		if p.running.Err() != nil {
			return p.running.Err()
		}
		one = &packing{waiting: map[types.NamespacedName]bool{}, ask: ask}
		p.all[key] = one
		if p.slots[stack.Namespace] == nil {
			p.slots[stack.Namespace] = semaphore.NewWeighted(packsAtOnce)
		}
		slots := p.slots[stack.Namespace]
		p.work.Go(func() { p.end(key, one, p.run(slots, do)) })
	}
	one.waiting[stack] = true
	return &NotPacked{}
}

func (p *packs) run(slots *semaphore.Weighted, do func(context.Context) error) error {
	if err := slots.Acquire(p.running, 1); err != nil {
		return err
	}
	defer slots.Release(1)
	ctx, cancel := context.WithTimeout(p.running, packFor)
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("fetch submodules and LFS files: %w", err)
	}
	return nil
}

func (p *packs) end(key string, one *packing, err error) {
	p.mu.Lock()
	waiting := one.waiting
	one.waiting, one.err, one.at = map[types.NamespacedName]bool{}, err, time.Now()
	if err == nil {
		delete(p.all, key)
	}
	p.mu.Unlock()
	for stack := range waiting {
		select {
		case p.ended <- repository.Event{Object: stack}:
		case <-p.running.Done():
		}
	}
}
