package runner

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cairn.dev/cairn/internal/store"
)

// How a step stands.
const (
	waiting   = "Waiting"
	running   = "Running"
	succeeded = "Succeeded"
	failed    = "Failed"
	skipped   = "Skipped"
)

// reporter tells the store how far an attempt is. While it goes on, the newest report is sent, once, and the work does
// not wait for it; the last one is sent until it has arrived.
type reporter struct {
	client *store.Client
	log    *slog.Logger
	mu     sync.Mutex
	steps  []store.Step
	last   int           // the step that was begun last
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
	r := &reporter{client: client, log: log, last: -1, news: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel}
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

// expect says which steps there will be. It is told with the beginning of the first one.
func (r *reporter) expect(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.steps = append(r.steps, store.Step{Name: name, State: waiting})
	}
}

// begin tells that a step begins. One that nobody expected follows the one before it.
func (r *reporter) begin(name string) {
	now := time.Now().UTC()
	r.mu.Lock()
	at := slices.IndexFunc(r.steps, func(s store.Step) bool { return s.Name == name && s.State == waiting })
	if at < 0 {
		at = r.last + 1
		r.steps = slices.Insert(r.steps, at, store.Step{})
	}
	r.steps[at] = store.Step{Name: name, State: running, StartedAt: &now}
	r.last = at
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default: // the report that waits to be sent will tell this too
	}
}

// say tells how far the step is that was begun last.
func (r *reporter) say(message string) {
	r.mu.Lock()
	if r.last >= 0 && r.steps[r.last].State == running {
		r.steps[r.last].Message = message
	}
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default: // as above
	}
}

// end keeps how the step that was begun last ended. It is told with what follows at once: the beginning of the next step,
// or the last report.
func (r *reporter) end(how store.Step) {
	now := time.Now().UTC()
	r.mu.Lock()
	last := &r.steps[r.last]
	how.Name, how.StartedAt, how.FinishedAt = last.Name, last.StartedAt, &now
	*last = how
	r.mu.Unlock()
}

// skip says why steps that still wait will not be done: those of these names or, without any, all of them.
func (r *reporter) skip(why string, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, step := range r.steps {
		if step.State == waiting && (len(names) == 0 || slices.Contains(names, step.Name)) {
			r.steps[i].State, r.steps[i].Message = skipped, why
		}
	}
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
