package sim

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"cairn.dev/cairn/api/v1alpha1"
)

// script is a history of the small scope: two Stacks, two managers, one Run each. All steps have one order, with these
// exceptions.
type script struct {
	// At the step of that number, another possible step is taken.
	At, Alternative int
	// Crash ends a manager at the n-th time that one reaches the API server, before or after a write; 0 for none.
	Crash int
	// Kill ends a runner at the n-th time that one continues; 0 for none.
	Kill int

	// The number of possibilities, for the enumeration of all scripts.
	widths        []int
	crosses, goes int
}

func (s *script) String() string {
	return fmt.Sprintf("at %d alternative %d, crash %d, kill %d", s.At, s.Alternative, s.Crash, s.Kill)
}

// which returns the possible step to take.
func (s *script) which(n int) int {
	at := len(s.widths)
	s.widths = append(s.widths, n)
	if at == s.At {
		return s.Alternative % n
	}
	return 0
}

func (s *script) crashes() bool { s.crosses++; return s.crosses == s.Crash }

func (s *script) kills() bool { s.goes++; return s.goes == s.Kill }

// play runs a script.
func (s *shared) play(c script) (*Violation, *script) {
	sim := newSimulation(s, Options{Seed: 1, Limit: 0})
	defer sim.end()
	sim.script = &c
	sim.putCode()
	sim.declare(0)
	sim.declare(1)
	for _, name := range []string{"net", "app"} {
		edit(sim, sim.api.stack(name), func(s *v1alpha1.Stack) {
			s.Spec.Apply, s.Spec.DependsOn, s.Spec.Variables, s.Spec.Retry.Limit = "Automatic", nil, variables(
				1), of(int32(1))
		})
	}
	sim.managers = []*manager{sim.newManager(0), sim.newManager(1)}
	sim.servers = []*server{sim.newServer()}
	sim.quiet = true
	sim.rest()
	return sim.violation, &c
}

// Exhaust runs all scripts with at most one crash of a manager, or one kill of a runner, and at most one step in
// another order; and with both together. Of
// these it takes one per stride.
func Exhaust(workers, stride int) (n int, found []string) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	defer rarelyCollect()()
	_, base := newShared().play(script{At: -1})
	var all []script
	add := func(crash, kill int) {
		all = append(all, script{At: -1, Crash: crash, Kill: kill})
		for at, width := range base.widths {
			for alt := 1; alt < width; alt++ {
				all = append(all, script{At: at, Alternative: alt, Crash: crash, Kill: kill})
			}
		}
	}
	for crash := range base.crosses + 1 {
		add(crash, 0)
	}
	for kill := 1; kill <= base.goes; kill++ {
		add(0, kill)
	}
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			s := newShared()
			defer s.end()
			for {
				i := (int(next.Add(1)) - 1) * max(stride, 1)
				if i >= len(all) {
					return
				}
				v, c := s.play(all[i])
				mu.Lock()
				n++
				if v != nil && len(found) < 5 {
					c.widths = nil
					found = append(found, fmt.Sprintf("%v: %v", c, v))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return n, found
}
