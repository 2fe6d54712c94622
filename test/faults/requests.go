package main

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/test/faults/proxy"
)

// writes injects each failure of each write to the API server.
var writes = suite{name: "writes", points: writePoints}

// A writeFault is a failure of a write of a process.
type writeFault struct {
	name string
	do   func(ctx context.Context, c *cairn, w *proxy.Call)
}

var writeFaults = []writeFault{
	{"crash before", func(_ context.Context, c *cairn, w *proxy.Call) { c.kill(); w.Cut() }},
	{"crash after", func(ctx context.Context, c *cairn, w *proxy.Call) { w.Forward(ctx); c.kill(); w.Cut() }},
	{"conflict", func(_ context.Context, _ *cairn, w *proxy.Call) {
		w.Refuse(http.StatusConflict, metav1.StatusReasonConflict, 0)
	}},
	{"timeout, not applied", func(_ context.Context, _ *cairn, w *proxy.Call) {
		w.Refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 0)
	}},
	{"timeout, applied", func(ctx context.Context, _ *cairn, w *proxy.Call) { w.Forward(ctx); w.Cut() }},
	{"429", func(_ context.Context, _ *cairn, w *proxy.Call) {
		w.Refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, time.Second)
	}},
	{"500", func(_ context.Context, _ *cairn, w *proxy.Call) {
		w.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
	}},
}

func writePoints(b baseline) []point {
	var all []point
	for n, s := range stories {
		for j, f := range writeFaults {
			if n == 0 {
				all = append(all, writePoint(b, s, "one of each kind", f, oneOfEachKind()))
			}
			for i, w := range b[s.name].Writes {
				// The first story is tried with all faults; of the others each write with one, in turn.
				if n == 0 || i%len(writeFaults) == j {
					at := func(other proxy.Write) bool { return other.String() == w.String() }
					all = append(all, writePoint(b, s, w.String(), f, at))
				}
			}
		}
	}
	return all
}

// oneOfEachKind selects a write of each kind in one story. None of them is right after another: a failure must not hide
// what the process does after the one before.
func oneOfEachKind() func(proxy.Write) bool {
	var mu sync.Mutex
	known := map[string]bool{}
	selected := false
	return func(w proxy.Write) bool {
		mu.Lock()
		defer mu.Unlock()
		kind := w.Actor + " " + w.Verb + " " + w.Resource
		selected = !selected && !known[kind]
		known[kind] = known[kind] || selected
		return selected
	}
}

// writePoint is a story in which the selected writes fail.
func writePoint(b baseline, s story, name string, f writeFault, selected func(proxy.Write) bool) point {
	return point{
		name:  s.name + ", " + name + ": " + f.name,
		fault: f.name,
		try: func(ctx context.Context, l *lane) (bool, error) {
			var reached atomic.Bool
			t, err := l.runStory(ctx, s, hooks{begin: func() {
				for _, c := range l.cairns() {
					c.OnWrite(func(call *proxy.Call) {
						if !selected(call.Write) {
							call.Pass()
							return
						}
						reached.Store(true)
						f.do(ctx, c, call)
					})
				}
			}})
			if err == nil {
				err = b.same(s, t)
			}
			return reached.Load(), err
		},
	}
}

// watches delays events, closes watches, or expires their resource version.
var watches = suite{name: "watches", points: watchPoints}

// held is how long nothing may be written before a delayed event continues: all effects of earlier events
// have happened by then.
const held = 400 * time.Millisecond

func watchPoints(b baseline) []point {
	var all []point
	for _, s := range stories {
		kinds := map[string]int{} // of events, and their number
		for _, e := range b[s.name].Events {
			kinds[e.Actor+" hears of "+e.Resource]++
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			all = append(all, point{
				name: s.name + ", " + kind + ": held back", fault: "held back until all is at rest, each event",
				try: func(ctx context.Context, l *lane) (bool, error) { return l.hold(ctx, b, s, kind) },
			})
		}
		for _, e := range b[s.name].Events {
			// The effects of closed watches differ most at the first events of a type, and at every fourth.
			if s.name != stories[0].name || e.Ordinal > 2 && e.Ordinal%4 > 0 {
				continue
			}
			for _, f := range []struct {
				name     string
				handling proxy.Handling
			}{{"dropped", proxy.Drop}, {"410", proxy.Gone}} {
				all = append(all, point{
					name: s.name + ", " + e.String() + ": " + f.name, fault: f.name,
					try: func(ctx context.Context, l *lane) (bool, error) {
						return l.interrupt(ctx, b, s, e, f.handling)
					},
				})
			}
		}
	}
	return all
}

// hold runs a story in which each event of a type is delayed until nothing is written any more.
func (l *lane) hold(ctx context.Context, b baseline, s story, kind string) (bool, error) {
	var reached atomic.Bool
	t, err := l.runStory(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnEvent(func(e proxy.Event) proxy.Handling {
				if strings.HasPrefix(e.String(), kind+" ") {
					reached.Store(true)
					// then it continues in any case
					_ = until(ctx, patience, func(context.Context) error { return l.rested(held) })
				}
				return proxy.Pass
			})
		}
	}})
	if err == nil {
		err = b.same(s, t)
	}
	return reached.Load(), err
}

// interrupt runs a story in which a watch is closed at an event.
func (l *lane) interrupt(ctx context.Context, b baseline, s story, at proxy.Event, handling proxy.Handling) (bool,
	error) {
	var reached atomic.Bool
	t, err := l.runStory(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnEvent(func(e proxy.Event) proxy.Handling {
				if e.String() == at.String() && !reached.Swap(true) {
					return handling
				}
				return proxy.Pass
			})
		}
	}})
	if err == nil {
		err = b.same(s, t)
	}
	return reached.Load(), err
}
