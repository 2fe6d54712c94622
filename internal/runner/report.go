package runner

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cairn.dev/cairn/internal/store"
)

// reporter tells the store how far an attempt is. While it goes on, the newest report is sent, once, and the work does
// not wait for it; the last one is sent until it has arrived.
type reporter struct {
	client *store.Client
	log    *slog.Logger
	mu     sync.Mutex
	steps  []store.Step
	news   chan struct{} // one waits while there is something to tell; closed before the last report
	done   chan struct{} // closed when nothing more is being sent
	cancel context.CancelFunc
}

// Limits of a report on the way: it is only a courtesy.
const (
	reportTimeout = 10 * time.Second
	lastReport    = time.Second
)

func startReporter(client *store.Client, log *slog.Logger) *reporter {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reporter{client: client, log: log, news: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel}
	go r.run(ctx)
	return r
}

func (r *reporter) run(ctx context.Context) {
	defer close(r.done)
	impatient := r.client.Impatient(0)
	for range r.news {
		once, cancel := context.WithTimeout(ctx, reportTimeout)
		if err := impatient.Report(once, store.Report{Steps: r.now()}); err != nil && ctx.Err() == nil {
			r.log.Warn("report not delivered", "error", err)
		}
		cancel()
	}
}

func (r *reporter) now() []store.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.steps)
}

// begin tells that a step begins.
func (r *reporter) begin(name string) {
	r.mu.Lock()
	r.steps = append(r.steps, store.Step{Name: name, State: "Running", StartedAt: time.Now().UTC()})
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default: // the report that waits to be sent will tell this too
	}
}

// end keeps how the step that was begun last ended. It is told with what follows at once: the beginning of the next step,
// or the last report.
func (r *reporter) end(how store.Step) {
	now := time.Now().UTC()
	r.mu.Lock()
	last := &r.steps[len(r.steps)-1]
	how.Name, how.StartedAt, how.FinishedAt = last.Name, last.StartedAt, &now
	*last = how
	r.mu.Unlock()
}

// finish sends the last report. No other may arrive after it, so one that is on its way is waited for, or given up.
func (r *reporter) finish(ctx context.Context, done store.Done) error {
	close(r.news)
	select {
	case <-r.done:
	case <-time.After(lastReport):
	}
	r.cancel()
	<-r.done
	return r.client.Report(ctx, store.Report{Steps: r.now(), Done: &done})
}
