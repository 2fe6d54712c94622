package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"cairn.dev/cairn/test/faults/proxy"
)

// managers freezes the leader of two operators at each of its writes, past its lease. The other one takes over and
// continues; then the first one thaws, with its write in progress, and for some time it still assumes that it leads.
var managers = suite{name: "managers", lane: laneOptions{operators: 2}, lanes: 10, points: managerPoints}

// lease is longer than the time until the lease of a leader expires and the next one starts.
const lease = time.Minute

func managerPoints(b baseline) []point {
	var all []point
	s := stories[0]
	for _, w := range b[s.name].Writes {
		if w.Actor != "operator" {
			continue
		}
		for _, f := range []struct {
			name string
			late bool
		}{{"frozen, its write arrives late", true}, {"frozen, its write is taken before", false}} {
			all = append(all, point{
				name: s.name + ", " + w.String() + ": " + f.name, fault: f.name,
				try: func(ctx context.Context, l *lane) (bool, error) { return l.freeze(ctx, b, s, w, f.late) },
			})
		}
	}
	return all
}

// freeze runs a story in which the leader is frozen at a write.
func (l *lane) freeze(ctx context.Context, b baseline, s story, at proxy.Write, late bool) (bool, error) {
	var (
		reached atomic.Bool
		wrong   atomic.Pointer[error]
	)
	t, err := l.runStory(ctx, s, hooks{begin: func() {
		for _, leader := range l.operators {
			leader.OnWrite(func(call *proxy.Call) {
				if !called(call.Write, at) || reached.Swap(true) {
					call.Pass()
					return
				}
				if !late {
					call.Forward(ctx)
				}
				if err := l.frozen(ctx, leader); err != nil {
					wrong.Store(&err)
				}
				if late {
					call.Forward(ctx)
				}
				call.Reply()
			})
		}
	}})
	if p := wrong.Load(); p != nil {
		err = errors.Join(err, *p)
	}
	if err == nil {
		for i := range t.Endings { // a Run that a former leader creates late is superseded (decision 41)
			t.Endings[i].Runs = slices.DeleteFunc(t.Endings[i].Runs, func(run string) bool {
				return strings.HasSuffix(run, " Superseded")
			})
		}
		err = b.same(s, t)
	}
	return reached.Load(), err
}

// called reports whether a write has that name, of any operator.
func called(w, at proxy.Write) bool {
	w.Actor, _, _ = strings.Cut(w.Actor, "-")
	return w.String() == at.String()
}

// frozen freezes a leader until another operator has finished its writes.
func (l *lane) frozen(ctx context.Context, leader *cairn) (err error) {
	if err := leader.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leader.signal(syscall.SIGCONT)) }()
	wrote := func() (n int) {
		for _, c := range l.operators {
			if c != leader {
				n += c.Leases()
			}
		}
		return n
	}
	before := wrote()
	return until(ctx, lease, func(context.Context) error {
		if wrote() == before {
			return errors.New("I9: no process acquires the lease of a frozen leader")
		}
		for _, c := range append([]*cairn{l.server}, l.operators...) {
			if c != leader && c.Quiet() < time.Second {
				return errors.New("I9: the new leader goes on writing")
			}
		}
		return nil
	})
}
