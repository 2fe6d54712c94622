//go:build envtest

package scale

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"
)

// quietSoon is longer than a Cairn with a few Stacks needs to become idle.
const quietSoon = 2 * time.Minute

var (
	flagSoak  = flag.Duration("soak", 0, "how long Stacks are changed all the time; 0 leaves that out")
	flagEvery = flag.Duration("every", time.Minute, "how often to measure the processes")
)

// slack is the allowed difference of goroutines and open files between the end and the start, since they vary with the
// work in progress.
const slack = 10

// Stacks change continuously, and the resource usage of the operator and the server does not grow. Memory is only
// printed, since a heap grows until it is collected.
func TestSoak(t *testing.T) {
	if *flagSoak == 0 {
		t.Skip("it takes the duration of -soak, an hour by default: `make soak`, which CI runs on a schedule")
	}
	i := Start(t)
	i.NewNamespace("soak")
	const stacks = 20
	processes := []*Process{i.Begin("operator"), i.Begin("server")}
	name := func(n int) string { return fmt.Sprintf("s-%d", n) }
	for n := range stacks {
		if err := i.Create(context.Background(), Stack("soak", name(n), n, 3)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range stacks {
		i.Until(name(n), func() bool { return i.Applied("soak", name(n)) })
	}
	ctx, cancel := context.WithTimeout(context.Background(), *flagSoak)
	defer cancel()
	changes := make(chan int)
	var last atomic.Int64 // time of the last change of a Stack
	last.Store(time.Now().UnixNano())
	go func() {
		defer close(changes)
		made := 0
		for ; ctx.Err() == nil; made++ {
			n := made % stacks
			for !i.Applied("soak", name(n)) && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond) // an occasional check suffices
			}
			if err := i.Resize(context.Background(), "soak", name(n), 1000+made); err != nil {
				t.Error(err)
				return
			}
			last.Store(time.Now().UnixNano())
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // about as many Runs per second as a small machine can process
			}
		}
		changes <- made
	}()
	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...); _ = w.Flush() }
	line("after\tprocess\tgoroutines\tfiles\tRSS\theap\t")
	samples := map[string][]float64{}
	began := time.Now()
	for tick := time.NewTicker(*flagEvery); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		if quiet := time.Since(time.Unix(0, last.Load())); quiet > 10*time.Minute {
			i.logStatuses()
			t.Fatalf("no Stack was changed for %s, since one is not applied: there is no load",
				quiet.Round(time.Second))
		}
		for _, p := range processes {
			v, err := p.Scrape(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			line("%s\t%s\t%.0f\t%.0f\t%s\t%s\t", time.Since(began).Round(time.Second), p.Name, v["go_goroutines"],
				v["process_open_fds"],
				mib(int64(v["process_resident_memory_bytes"])), mib(int64(v["go_memstats_heap_alloc_bytes"])))
			for _, what := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes"} {
				samples[p.Name+" "+what] = append(samples[p.Name+" "+what], v[what])
			}
		}
	}
	made := <-changes
	fmt.Fprintf(os.Stdout, "%d changes in %s, %d pods ended\n", made, *flagSoak, i.Node.Ended())
	for _, p := range processes {
		for _, what := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes"} {
			all := samples[p.Name+" "+what]
			at := make([]float64, len(all))
			for n := range at {
				at[n] = float64(n) * flagEvery.Hours()
			}
			_, slope := Line(at, all)
			grows := what != "process_resident_memory_bytes" && Grows(all, slack)
			fmt.Fprintf(os.Stdout, "%s %s: %+.0f an hour\n", p.Name, what, slope)
			if grows {
				t.Errorf("%s: %s grow: %v", p.Name, what, all)
			}
		}
	}
	if made < stacks {
		t.Errorf("only %d changes: there was no load", made)
	}
}
