package download

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/singleflight"
)

// ErrClosed is the error of a download that is asked for after its Group was closed.
var ErrClosed = errors.New("downloads are closed")

// Group runs one download of each name at a time, for all callers that ask for it. A download outlives its callers, who
// ask for it again, and ends with the Group. NewGroup creates one.
type Group struct {
	ctx     context.Context //nolint:containedctx // it is that of the downloads, which outlive their callers
	cancel  context.CancelFunc
	calls   singleflight.Group
	running sync.WaitGroup
	mu      sync.Mutex // held so that nothing starts once ctx is over
}

// NewGroup returns a Group. The caller closes it.
func NewGroup() *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Close cancels all downloads and waits for them.
func (g *Group) Close() {
	g.mu.Lock()
	g.cancel()
	g.mu.Unlock()
	g.running.Wait()
}

// Do returns the result of the download of that name. When ctx is over it no longer waits; the download continues.
func Do[T any](ctx context.Context, g *Group, name string, download func(context.Context) (T, error)) (T, error) {
	var none T
	g.mu.Lock()
	if g.ctx.Err() != nil {
		g.mu.Unlock()
		return none, ErrClosed
	}
	g.running.Add(1) // for each caller: only singleflight knows which of them starts the download
	results := g.calls.DoChan(name, func() (any, error) { return download(g.ctx) })
	g.mu.Unlock()
	select {
	case r := <-results:
		g.running.Done()
		value, _ := r.Val.(T)
		return value, r.Err
	case <-ctx.Done():
		go func() {
			<-results
			g.running.Done()
		}()
		return none, ctx.Err()
	}
}
