package sim

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Histories runs n histories, those of the seeds from first on, on a number of workers, and returns the first
// violations that it detects. With often, all of them delete objects often.
func Histories(first uint64, n, workers, most int, often bool) ([]*Violation, Stats) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	defer rarelyCollect()()
	var next atomic.Uint64
	var mu sync.Mutex
	var found []*Violation
	var sum Stats
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			s := newShared()
			defer s.end()
			var own Stats
			for i := next.Add(1) - 1; i < uint64(n); i = next.Add(1) - 1 {
				v, stats := s.run(Options{Seed: first + i, Limit: -1, Often: often})
				own.add(stats)
				if v == nil {
					continue
				}
				mu.Lock()
				found = append(found, v)
				enough := len(found) >= most
				mu.Unlock()
				if enough {
					next.Store(uint64(n))
				}
			}
			mu.Lock()
			sum.add(own)
			mu.Unlock()
		})
	}
	all.Wait()
	return found, sum
}

// rarelyCollect delays garbage collection: nearly all memory of a history is garbage at its end.
// It returns a function that restores the setting.
func rarelyCollect() func() {
	limit, percent := debug.SetMemoryLimit(mostMemory), debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// mostMemory limits the memory of the process while it runs histories.
const mostMemory = 128 << 20

func (s *Stats) add(o Stats) {
	s.Steps += o.Steps
	s.Reconciles += o.Reconciles
	s.Writes += o.Writes
	s.Runs += o.Runs
	s.Applies += o.Applies
	s.Creates += o.Creates
	s.Faults += o.Faults
	s.Excused += o.Excused
	s.Holds += o.Holds
	s.Applied += o.Applied
	s.Returns += o.Returns
}

// Replay runs one history, with its trace.
func Replay(o Options) (*Violation, []string, Stats) {
	s := newShared()
	defer s.end()
	o.Trace = true
	sim := newSimulation(s, o)
	v, stats := sim.live()
	return v, sim.trace, stats
}
