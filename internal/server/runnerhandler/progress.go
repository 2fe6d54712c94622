package runnerhandler

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/runnerapi"
)

const (
	// gather is how long a report on the way waits for newer ones, so that a Run is written once a second at most.
	gather = time.Second
	// flushTime bounds the writing of one.
	flushTime = 10 * time.Second
	// flushTogether is how many are written at a time.
	flushTogether = 8
)

// progress writes reports into Runs. The last of an attempt is written at once; of those on the way only the newest
// counts, and none is written after the last.
type progress struct {
	to  Reports
	log *slog.Logger

	mu    sync.Mutex
	byPod map[types.UID]*podReports
	wake  chan struct{}
}

// podReports are the reports of one pod.
type podReports struct {
	// turn has capacity 1: its holder writes, so that reports arrive in order.
	turn chan struct{}
	// waiting is the newest that was not written yet, from the caller, to be written when due.
	waiting *runnerapi.Report
	caller  Caller
	due     time.Time
	// users is how many hold on to this.
	users int
}

func newProgress(to Reports, log *slog.Logger) *progress {
	return &progress{to: to, log: log, byPod: map[types.UID]*podReports{}, wake: make(chan struct{}, 1)}
}

// add takes a report on the way.
func (p *progress) add(c Caller, r runnerapi.Report) {
	p.mu.Lock()
	pod := p.hold(c.Pod.UID)
	if pod.waiting == nil {
		pod.due = time.Now().Add(gather)
	} else {
		p.release(c.Pod.UID) // held once for all that wait
	}
	pod.caller, pod.waiting = c, &r
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// finish writes the last report of an attempt, in place of what waits.
func (p *progress) finish(ctx context.Context, c Caller, r runnerapi.Report) error {
	p.mu.Lock()
	pod := p.hold(c.Pod.UID)
	if pod.waiting != nil {
		pod.waiting = nil
		p.release(c.Pod.UID)
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.release(c.Pod.UID)
		p.mu.Unlock()
	}()
	select {
	case pod.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-pod.turn }()
	return p.to.Report(ctx, c.run(), c.Pod.UID, c.Attempt, r)
}

// run writes what is due until ctx is done, and then all that waits.
func (p *progress) run(ctx context.Context) {
	for {
		due, next := p.take(time.Now())
		p.flush(context.WithoutCancel(ctx), due)
		if len(due) > 0 {
			continue
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			rest, _ := p.take(time.Now().Add(gather))
			p.flush(context.WithoutCancel(ctx), rest)
			return
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
		}
	}
}

// take returns the pods whose reports are due, and how long the others have.
func (p *progress) take(now time.Time) (due []*podReports, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = time.Hour
	for _, pod := range p.byPod {
		switch {
		case pod.waiting == nil:
		case now.Before(pod.due):
			next = min(next, pod.due.Sub(now))
		default:
			due = append(due, pod)
		}
	}
	return due, next
}

func (p *progress) flush(ctx context.Context, due []*podReports) {
	var g errgroup.Group
	g.SetLimit(flushTogether)
	for _, pod := range due {
		g.Go(func() error { p.write(ctx, pod); return nil })
	}
	_ = g.Wait() // write returns none
}

// write writes what waits, if the last report has not taken its place by now. The next one has what a lost one had.
func (p *progress) write(ctx context.Context, pod *podReports) {
	pod.turn <- struct{}{}
	defer func() { <-pod.turn }()
	p.mu.Lock()
	c, report := pod.caller, pod.waiting
	pod.waiting = nil
	p.mu.Unlock()
	if report == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := p.to.Report(ctx, c.run(), c.Pod.UID, c.Attempt, *report); err != nil {
		p.log.Warn("progress not written", "namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "attempt",
			c.Attempt, "error", err)
	}
	p.mu.Lock()
	p.release(c.Pod.UID)
	p.mu.Unlock()
}

// hold and release count who needs a pod's reports; mu is locked.
func (p *progress) hold(uid types.UID) *podReports {
	pod, ok := p.byPod[uid]
	if !ok {
		pod = &podReports{turn: make(chan struct{}, 1)}
		p.byPod[uid] = pod
	}
	pod.users++
	return pod
}

func (p *progress) release(uid types.UID) {
	pod := p.byPod[uid]
	if pod.users--; pod.users == 0 {
		delete(p.byPod, uid)
	}
}

// Reports writes what a pod reports into its Run. When it returns nil the report is durable.
type Reports interface {
	Report(ctx context.Context, run types.NamespacedName, pod types.UID, attempt int32, report runnerapi.Report) error
}
