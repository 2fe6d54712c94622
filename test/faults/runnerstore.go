package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// stores has Cairn's server fail at each write of a runner's: a lock, a state, a plan, a report, and what else there
// is.
var stores = suite{name: "store", lane: laneOptions{store: behindDoor}, points: storePoints}

// writes reports whether a request writes at the server.
func (r request) writes() bool { return !strings.HasPrefix(r.what, "GET ") }

// A refusal is a failure of a write. times is the number of requests that fail before one succeeds.
type refusal struct {
	name  string
	times int
	do    func(v *visit) error
}

func answers(status int) func(*visit) error {
	return func(v *visit) error { v.refuse(status); return nil }
}

var refusals = []refusal{
	{"500", 1, answers(http.StatusInternalServerError)},
	{"503, three times", 3, answers(http.StatusServiceUnavailable)},
	{"507", 1, answers(http.StatusInsufficientStorage)},
	{"cut before it is taken", 1, func(v *visit) error { v.cut = true; return nil }},
	{"cut after it is taken", 1, func(v *visit) error { err := v.forward(); v.cut = true; return err }},
}

func storePoints(b baseline) []point {
	var all []point
	n := 0
	for _, v := range visitsAt(request.writes) {
		for i, f := range refusals {
			if v.Pod != pods[0] && (n+i)%len(refusals) != 0 {
				continue
			}
			all = append(all, point{name: v.String() + ": " + f.name, fault: f.name,
				try: func(ctx context.Context, l *lane) (bool, error) {
					return l.refused(ctx, b, v, f)
				}})
		}
		n++
	}
	return all
}

// refused runs a story in which a write of a runner is rejected.
func (l *lane) refused(ctx context.Context, b baseline, at visit, f refusal) (bool, error) {
	d, err := l.guarded(ctx)
	if err != nil {
		return false, err
	}
	var (
		mu    sync.Mutex
		tries int
		wrong error
	)
	d.begin(func(v *visit) {
		mu.Lock()
		// The others of its kind wait in the runner until this one is through, so that the next one is another try of
		// it.
		refuse := v.Pod == at.Pod && v.What == at.What && v.Ordinal >= at.Ordinal && tries < f.times
		if refuse {
			tries++
		}
		mu.Unlock()
		if !refuse {
			v.pass()
			return
		}
		if err := f.do(v); err != nil {
			mu.Lock()
			wrong = errors.Join(wrong, err)
			mu.Unlock()
		}
	})
	err = errors.Join(l.alike(ctx, b, stories[0], hooks{}), wrong)
	return tries > 0, err
}

// strandings rejects one kind of write of a pod permanently: the runner stops retrying after two seconds. What it knows
// has to come by another way, or from what was kept, to the next attempt.
var strandings = suite{name: "store for good",
	lane: laneOptions{store: behindDoor, args: []string{"--runner-patience=2s"}}, points: strandingPoints}

func strandingPoints(b baseline) []point {
	var all []point
	seen := map[string]bool{}
	for _, v := range visitsAt(request.writes) {
		kind, _, _ := strings.Cut(v.What, " (")
		if v.Pod != pods[0] || seen[kind] || kind == "POST logs" {
			continue // a log that is not stored has no consequence
		}
		seen[kind] = true
		all = append(all, point{name: v.Pod + " " + kind, fault: "one kind of write, each",
			try: func(ctx context.Context, l *lane) (bool, error) {
				return l.stranded(ctx, b, v.Pod, kind, false, nil)
			}})
	}
	// The state cannot be written at all, and then the runner fails while it rescues it.
	for _, f := range blows {
		all = append(all, point{name: pods[0] + " POST state, then PUT rescue: " + f.name,
			fault: "the state, then at the rescue: " + f.name, try: func(ctx context.Context, l *lane) (bool, error) {
				return l.stranded(ctx, b, pods[0], "POST state", f.long, func(d *door, v *visit) error {
					return f.do(ctx, l, d, v)
				})
			}})
	}
	for _, f := range refusals {
		all = append(all, point{name: pods[0] + " POST state, then PUT rescue: " + f.name,
			fault: "the state, then at the rescue: " + f.name, try: func(ctx context.Context, l *lane) (bool, error) {
				return l.stranded(ctx, b, pods[0], "POST state", false, func(_ *door, v *visit) error {
					return f.do(v)
				})
			}})
	}
	return all
}

// stranded runs a story in which one kind of a pod's writes is refused for good, and rescue is done to its first try at
// a rescue.
func (l *lane) stranded(ctx context.Context, b baseline, pod, kind string, long bool,
	rescue func(*door, *visit) error) (bool, error) {
	d, err := l.guarded(ctx)
	if err != nil {
		return false, err
	}
	var (
		reached, rescued atomic.Bool
		wrong            atomic.Pointer[error]
	)
	d.begin(func(v *visit) {
		asked, _, _ := strings.Cut(v.What, " (")
		switch {
		case v.Pod == pod && asked == kind:
			reached.Store(true)
			v.refuse(http.StatusServiceUnavailable)
		case v.Pod == pod && asked == "PUT rescue" && rescue != nil && !rescued.Swap(true):
			if err := rescue(d, v); err != nil {
				wrong.Store(&err)
			}
		default:
			v.pass()
		}
	})
	h := l.waiting(stories[0], long)
	var saved atomic.Bool
	h.ended = func(context.Context, string) error {
		if rescues(d, pod) && !saved.Swap(true) {
			l.witness.ignoreUnlockedVersion()
		}
		return nil
	}
	err = l.alike(ctx, b, stories[0], h)
	if p := wrong.Load(); p != nil {
		err = errors.Join(err, *p)
	}
	return reached.Load() && (rescue == nil || rescued.Load()), err
}

// rescues reports whether a pod has sent a state to rescue.
func rescues(d *door, pod string) bool {
	return slices.ContainsFunc(d.seen(), func(name string) bool { return strings.HasPrefix(name, pod+" PUT rescue ") })
}

// ignoreUnlockedVersion ignores one version that was written without a lock: a rescued state becomes one when no lock
// is held and its attempt is the last one still (internal/state/rescue.go).
func (w *witness) ignoreUnlockedVersion() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.broken, func(err error) bool {
		return strings.HasSuffix(err.Error(), "which had no lock")
	}); i >= 0 {
		w.broken = slices.Delete(w.broken, i, i+1)
	}
}
