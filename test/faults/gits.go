package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"cairn.dev/cairn/test/gitserver"
)

// gits injects a failure of the Git server at each request of a fetch.
var gits = suite{name: "git", points: gitPoints}

func gitPoints(b baseline) []point {
	var all []point
	for k := range b[files.name].Fetches {
		for _, f := range []struct {
			name string
			// do returns the status of the response, 0 for a normal one.
			do func(ctx context.Context, l *lane, waits *sync.WaitGroup) int
		}{
			{"503", func(context.Context, *lane, *sync.WaitGroup) int { return http.StatusServiceUnavailable }},
			{"401", func(context.Context, *lane, *sync.WaitGroup) int { return http.StatusUnauthorized }},
			{"connections cut", func(_ context.Context, l *lane, waits *sync.WaitGroup) int {
				waits.Go(l.code.CutOff) // it waits for requests in progress
				return http.StatusServiceUnavailable
			}},
			{"held back until all is at rest", func(ctx context.Context, l *lane, _ *sync.WaitGroup) int {
				// then it continues in any case
				_ = until(ctx, patience, func(context.Context) error { return l.rested(held) })
				return 0
			}},
		} {
			name := fmt.Sprintf("%s, request %d: %s", files.name, k+1, f.name)
			all = append(all, point{name: name, fault: f.name, try: func(ctx context.Context, l *lane) (bool, error) {
				var n atomic.Int32
				var waits sync.WaitGroup
				err := l.alike(ctx, b, files, hooks{begin: func() {
					l.code.AnswerBy(func(gitserver.Request) int {
						if int(n.Add(1)) == k+1 {
							return f.do(ctx, l, &waits)
						}
						return 0
					})
				}})
				waits.Wait()
				return int(n.Load()) > k, err
			}})
		}
	}
	return all
}
