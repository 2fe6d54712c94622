package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/test/faults/proxy"
)

// writes has each write to the API server fail in each way.
var writes = suite{name: "writes", points: writePoints}

// writeFaults are what can become of a write of a process.
var writeFaults = []struct {
	name string
	do   func(ctx context.Context, c *cairn, w *proxy.Call)
}{
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
		for i, w := range b[s.name].Writes {
			for j, f := range writeFaults {
				// The first story is tried with all faults; of the others each write with one, in turn.
				if n > 0 && i%len(writeFaults) != j {
					continue
				}
				all = append(all, point{
					name:  s.name + ", " + w.String() + ": " + f.name,
					fault: f.name,
					try: func(ctx context.Context, l *lane) (bool, error) {
						var reached atomic.Bool
						t, err := l.tell(ctx, s, hooks{begin: func() {
							for _, c := range l.cairns() {
								c.OnWrite(func(call *proxy.Call) {
									if call.Write.String() != w.String() || reached.Swap(true) {
										call.Pass()
										return
									}
									f.do(ctx, c, call)
								})
							}
						}})
						if err == nil {
							err = b.same(s, t)
						}
						return reached.Load(), err
					},
				})
			}
		}
	}
	return all
}
