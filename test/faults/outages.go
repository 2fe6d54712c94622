package main

import (
	"context"
	"errors"
	"sync"

	"cairn.dev/cairn/test/faults/proxy"
)

// outages has the API server or etcd killed at writes, and started again.
var outages = suite{name: "outages", lanes: 1, points: outagePoints}

func outagePoints(b baseline) []point {
	var all []point
	s := stories[0]
	for i, w := range b[s.name].Writes {
		if i%5 != 0 {
			continue // each takes a while, and the API server's end is the same to all who write then
		}
		for _, program := range []string{apiServer, etcd} {
			for _, after := range []bool{false, true} {
				fault := program + " killed before"
				if after {
					fault = program + " killed after"
				}
				all = append(all, point{
					name: s.name + ", " + w.String() + ": " + fault, fault: fault,
					try: func(ctx context.Context, l *lane) (bool, error) { return l.outage(ctx, b, s, w, program, after) },
				})
			}
		}
	}
	return all
}

// outage tells a story in which a program of the control plane is killed at a write.
func (l *lane) outage(ctx context.Context, b baseline, s story, at proxy.Write, program string, after bool) (bool, error) {
	var (
		once    sync.Once
		reached bool
		wrong   error
		revived sync.WaitGroup
	)
	t, err := l.tell(ctx, s, hooks{begin: func() {
		for _, c := range l.cairns() {
			c.OnWrite(func(call *proxy.Call) {
				if call.Write.String() != at.String() {
					call.Pass()
					return
				}
				passes := true
				once.Do(func() {
					passes, reached = false, true
					if after {
						call.Forward(ctx)
					}
					if wrong = l.killed(program); wrong != nil {
						return
					}
					revived.Go(func() { wrong = l.revive(ctx, func() error { return nil }) })
				})
				if passes {
					call.Pass()
					return
				}
				call.Cut()
			})
		}
	}})
	revived.Wait()
	if err = errors.Join(err, wrong); err == nil {
		err = b.same(s, t)
	}
	return reached, err
}
