// Package report sends an attempt's progress to the server while the attempt runs: its steps, its log and its
// journal. None of them keeps the engine waiting.
package report

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// States of a step.
const (
	Waiting   = "Waiting"
	Running   = "Running"
	Succeeded = "Succeeded"
	Failed    = "Failed"
	Skipped   = "Skipped"
)

// Reporter reports an attempt's steps. While the attempt runs, the newest report is sent, once, and the work does not
// wait for it; the last report is sent until it has arrived.
type Reporter struct {
	client *runnerapi.Client
	log    *slog.Logger
	mu     sync.Mutex
	steps  []runnerapi.Step
	last   int           // the step that was begun last
	news   chan struct{} // holds one while there is a change to report; closed before the last report
	done   chan struct{} // closed when nothing more is being sent
	cancel context.CancelFunc
}

// Limits of a report on the way: it is only a courtesy.
const (
	reportTimeout = 10 * time.Second
	lastReport    = time.Second
)

// StartReporter returns a Reporter that sends until Finish.
func StartReporter(client *runnerapi.Client, log *slog.Logger) *Reporter {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Reporter{client: client, log: log, last: -1, news: make(chan struct{}, 1), done: make(chan struct{}),
		cancel: cancel}
	go r.run(ctx)
	return r
}

func (r *Reporter) run(ctx context.Context) {
	defer close(r.done)
	impatient := r.client.Impatient(0)
	for range r.news {
		once, cancel := context.WithTimeout(ctx, reportTimeout)
		if err := impatient.Report(once, runnerapi.Report{Steps: r.Steps()}); err != nil && ctx.Err() == nil {
			r.log.Warn("report not delivered", "error", err)
		}
		cancel()
	}
}

// Steps returns the steps as they are now.
func (r *Reporter) Steps() []runnerapi.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.steps)
}

// Expect adds steps that wait. They are reported when the first one begins.
func (r *Reporter) Expect(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.steps = append(r.steps, runnerapi.Step{Name: name, State: Waiting})
	}
}

// Begin reports that a step begins. One that was not expected is inserted after the one before it.
func (r *Reporter) Begin(name string) {
	now := time.Now().UTC()
	r.mu.Lock()
	at := slices.IndexFunc(r.steps, func(s runnerapi.Step) bool { return s.Name == name && s.State == Waiting })
	if at < 0 {
		at = r.last + 1
		r.steps = slices.Insert(r.steps, at, runnerapi.Step{})
	}
	r.steps[at] = runnerapi.Step{Name: name, State: Running, StartedAt: &now}
	r.last = at
	r.mu.Unlock()
	r.notify()
}

// Progress sets the message of the step that was begun last, while it runs.
func (r *Reporter) Progress(message string) {
	r.mu.Lock()
	if r.last >= 0 && r.steps[r.last].State == Running {
		r.steps[r.last].Message = message
	}
	r.mu.Unlock()
	r.notify()
}

// notify has the steps sent. A report that waits to be sent will have the newest.
func (r *Reporter) notify() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// End records how the step that was begun last ended. It is sent with what follows at once: the beginning of the next
// step, or the last report.
func (r *Reporter) End(how runnerapi.Step) {
	now := time.Now().UTC()
	r.mu.Lock()
	last := &r.steps[r.last]
	how.Name, how.StartedAt, how.FinishedAt = last.Name, last.StartedAt, &now
	*last = how
	r.mu.Unlock()
}

// Skip records why steps that still wait will not be done: those of these names or, without any, all of them.
func (r *Reporter) Skip(why string, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, step := range r.steps {
		if step.State == Waiting && (len(names) == 0 || slices.Contains(names, step.Name)) {
			r.steps[i].State, r.steps[i].Message = Skipped, why
		}
	}
}

// Finish sends the last report. No other may arrive after it, so one that is on its way is waited for, or abandoned.
func (r *Reporter) Finish(ctx context.Context, done runnerapi.Done) error {
	close(r.news)
	select {
	case <-r.done:
	case <-time.After(lastReport):
	}
	r.cancel()
	<-r.done
	return r.client.Report(ctx, runnerapi.Report{Steps: r.Steps(), Done: &done})
}
