package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cairn.dev/cairn/test/faults/proxy"
)

// watches has what processes hear of the API server come late, break off, or be too old to go on from.
var watches = suite{name: "watches", points: watchPoints}

// held is how long nobody may have written anything before an event that is held back goes on: all that could come of what was heard before
// has come by then.
const held = 400 * time.Millisecond

func watchPoints(b baseline) []point {
	var all []point
	for _, s := range stories {
		kinds := map[string]int{} // of events, and how many there are
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
			// Breaks are where the events of one kind are most different from each other: at the first ones, and at every fourth.
			if s.name != stories[0].name || e.Ordinal > 2 && e.Ordinal%4 > 0 {
				continue
			}
			for _, f := range []struct {
				name    string
				verdict proxy.Verdict
			}{{"dropped", proxy.Drop}, {"410", proxy.Gone}} {
				all = append(all, point{
					name: s.name + ", " + e.String() + ": " + f.name, fault: f.name,
					try: func(ctx context.Context, l *lane) (bool, error) { return l.interrupt(ctx, b, s, e, f.verdict) },
				})
			}
		}
	}
	return all
}

// hold tells a story in which each event of a kind is held back until nothing is written any more.
func (l *lane) hold(ctx context.Context, b baseline, s story, kind string) (bool, error) {
	var reached atomic.Bool
	t, err := l.tell(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnEvent(func(e proxy.Event) proxy.Verdict {
				if strings.HasPrefix(e.String(), kind+" ") {
					reached.Store(true)
					_ = until(ctx, patience, func(context.Context) error { return l.rested(held) }) // then it goes on in any case
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

// interrupt tells a story in which a watch is broken off at an event.
func (l *lane) interrupt(ctx context.Context, b baseline, s story, at proxy.Event, verdict proxy.Verdict) (bool, error) {
	var reached atomic.Bool
	t, err := l.tell(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnEvent(func(e proxy.Event) proxy.Verdict {
				if e.String() == at.String() && !reached.Swap(true) {
					return verdict
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
