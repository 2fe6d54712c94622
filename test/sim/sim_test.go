package sim

import (
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A few of the histories of `make sim`.
func TestHistories(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	found, sum := Histories(1, n, 0, 3, false)
	for _, v := range found {
		t.Errorf("%v\nreplay: make sim SEED=%d", v, v.Seed)
	}
	if sum.Applies < n/4 || sum.Faults < n/2 || sum.Creates < n/4 {
		t.Errorf("too little happens in %d histories: %+v", n, sum)
	}
}

// TestHoldHistories runs histories in which pull requests are applied before their merge, beside those of
// TestHistories.
func TestHoldHistories(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 20
	}
	s := newShared()
	defer s.end()
	defer rarelyCollect()()
	var sum Stats
	for seed := uint64(10_006); seed < uint64(10_006+10*n); seed += 10 {
		v, stats := s.run(Options{Seed: seed, Limit: -1})
		if sum.add(stats); v != nil {
			t.Errorf("%v\nreplay: make sim SEED=%d", v, seed)
		}
	}
	if sum.Holds < n || sum.Applied < n/2 || sum.Returns < n/20 {
		t.Errorf("too little happens in %d histories: %+v", n, sum)
	}
}

// Each of these histories violated an invariant once. The meaning of a seed changes with the model, so their value
// decreases with time.
func TestRegressions(t *testing.T) {
	for name, o := range map[string]Options{
		"a leader that is one no more writes a Stack's status last":  {Seed: 825},
		"the same, of a Run that failed":                             {Seed: 1498},
		"a Run that was deleted by hand is made again":               {Seed: 8012},
		"a Stack is made again under its name":                       {Seed: 35628},
		"a Run that is deleted gives its name to the next":           {Seed: 77041740},
		"the same, and its pod is asked to stop":                     {Seed: 123131660},
		"a Run that is created late begins beside the next":          {Seed: 2000066603, Often: true},
		"the same, while the next one plans":                         {Seed: 2000128019, Often: true},
		"a Stack goes before the pod of a deleted Run has ended":     {Seed: 4000004827, Often: true},
		"a Run is deleted before a manager receives it":              {Seed: 900385798},
		"a suspended Stack's Run has a next try":                     {Seed: 900346928},
		"a destroy Run is deleted while its pod destroys":            {Seed: 900864982},
		"a Run that is created late gets no pod":                     {Seed: 1700502002},
		"a forgotten runner is not the pod that has its name":        {Seed: 1700784218},
		"a Run is created late, and the next one is deleted":         {Seed: 3700593507},
		"a deleted Stack's two states wait for a user to merge them": {Seed: 6700058603},
	} {
		t.Run(name, func(t *testing.T) {
			o.Limit = -1
			if v, _ := newShared().run(o); v != nil {
				t.Error(v)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	_, first, _ := Replay(Options{Seed: 7, Limit: -1})
	_, second, _ := Replay(Options{Seed: 7, Limit: -1})
	if len(first) == 0 || len(first) != len(second) {
		t.Fatalf("traces of %d and %d lines", len(first), len(second))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("line %d: %q, then %q", i, first[i], second[i])
		}
	}
}

// Readers share the objects of the API server, since copies are slow. That is valid only if no reader changes them.
func TestStoredObjectsAreNotChanged(t *testing.T) {
	s := newShared()
	defer s.end()
	for seed := range uint64(200) {
		if v, _ := s.run(Options{Seed: seed, Limit: -1, Checked: true}); v != nil {
			t.Error(v)
		}
	}
}

// One of some hundreds of the small scope.
func TestSmallScope(t *testing.T) {
	n, found := Exhaust(0, 400)
	for _, f := range found {
		t.Error(f)
	}
	if n < 50 {
		t.Errorf("only %d histories", n)
	}
}

func BenchmarkHistory(b *testing.B) {
	s := newShared()
	defer s.end()
	defer rarelyCollect()()
	b.ReportAllocs()
	for i := range b.N {
		if v, _ := s.run(Options{Seed: uint64(i) + 1, Limit: -1}); v != nil {
			b.Fatal(v)
		}
	}
}

// A user deletes a Run before the manager's watch has reported it, and the watch breaks: no event ever reports the
// deletion.
func TestRunIsDeletedBeforeWatchEvent(t *testing.T) {
	s := newShared()
	defer s.end()
	sim := newSimulation(s, Options{Seed: 1, Limit: 0})
	defer sim.end()
	sim.putCode()
	sim.declare(0)
	m := sim.newManager(0)
	sim.managers, sim.servers, sim.quiet = []*manager{m}, []*server{sim.newServer()}, true
	elect(sim, 0, 0)
	for range 100 { // all but the watch of Runs continues
		for k := range kinds {
			for k != runs && m.view.behind(k) > 0 {
				m.receive(k)
			}
		}
		if len(m.queue[ofStack]) > 0 {
			m.reconcile(ofStack)
		}
	}
	if sim.api.run("net-1") == nil || sim.api.stack("net").Status.CurrentRun != "net-1" {
		t.Fatal(sim.state())
	}
	if err := sim.api.remove(runs, "net-1", nil, nil, false); err != nil {
		t.Fatal(err)
	}
	m.relist(runs)
	if sim.rest(); sim.violation != nil {
		t.Error(sim.violation)
	}
}

// A user deletes a Run just before its apply starts, and changes the Stack. The pod applies, and saves its state; the
// next Run has another name, and starts once that pod has ended.
func TestRunIsDeletedDuringApply(t *testing.T) {
	s := newShared()
	defer s.end()
	sim := newSimulation(s, Options{Seed: 1, Limit: 0})
	defer sim.end()
	sim.putCode()
	sim.declare(0)
	edit(sim, sim.api.stack("net"), func(s *v1alpha1.Stack) {
		s.Spec.Apply, s.Spec.Variables = v1alpha1.ApplyAutomatic, variables(1)
	})
	sim.managers, sim.servers, sim.quiet = []*manager{sim.newManager(0)}, []*server{sim.newServer()}, true
	var first *machine
	until(t, sim, "the pod receives the order to apply", func() bool {
		if len(sim.machines) > 0 {
			first = sim.machines[0]
		}
		return first != nil && first.runner != nil && first.runner.attempt == 2
	})
	if err := sim.api.remove(runs, "net-1", nil, nil, false); err != nil {
		t.Fatal(err)
	}
	edit(sim, sim.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Variables = variables(2) })
	until(t, sim, "the next Run is created", func() bool { return len(sim.api.objects[runs]) > 0 })
	if name := sim.api.objects[runs][0].GetName(); name != "net-2" || first.runner.alive() {
		t.Errorf("Run %s is created, and the pod of net-1 is alive: %v", name, first.runner.alive())
	}
	if sim.rest(); sim.violation != nil {
		t.Error(sim.violation)
	}
}

// The clock of a manager is ten minutes ahead when it detects a lost pod in the middle of an apply, and the Stack is
// suspended. Once the clock is correct, that time is ignored at first, and some minutes later the status reports that
// the runner may be abandoned: a write that no further reconciliation repeats.
func TestFutureTimeIsReportedOnce(t *testing.T) {
	s := newShared()
	defer s.end()
	sim := newSimulation(s, Options{Seed: 1, Limit: 0})
	defer sim.end()
	sim.putCode()
	sim.declare(0)
	edit(sim, sim.api.stack("net"), func(s *v1alpha1.Stack) {
		s.Spec.Apply, s.Spec.Retry.Limit = v1alpha1.ApplyAutomatic, of(int32(1))
	})
	m := sim.newManager(0)
	sim.managers, sim.servers, sim.quiet = []*manager{m}, []*server{sim.newServer()}, true
	until(t, sim, "the pod receives the order to apply", func() bool {
		return len(sim.machines) > 0 && sim.machines[0].runner != nil && sim.machines[0].runner.attempt == 2
	})
	m.skew, sim.skewed = 600, true
	sim.takeAway(sim.machines[0].pod)
	edit(sim, sim.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
	until(t, sim, "the apply is lost", func() bool { return sim.api.run("net-1").Status.Attempts[1].FinishedAt != nil })
	m.skew = 0
	sim.resync()
	sim.time += 320
	before := sim.stats.Writes
	sim.checkNoFurtherWrites()
	if sim.violation != nil || sim.stats.Writes == before {
		t.Errorf("%d writes: %v", sim.stats.Writes-before, sim.violation)
	}
}

// until takes steps and advances the clock until a condition holds.
func until(t *testing.T, sim *simulation, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		if all := sim.enabled(); len(all) > 0 {
			sim.do(all[0])
		} else if sim.time = sim.nextTime(); sim.time < 0 {
			break
		} else {
			sim.enqueueDue()
		}
	}
	t.Fatalf("not until %s; %s", what, sim.state())
}

// TestRestoredObjectsAreCreatedOnce checks that a backup tool restores the objects of some histories without status,
// UIDs and owners, and that a user restores the states then.
func TestRestoredObjectsAreCreatedOnce(t *testing.T) {
	restored := 0
	for seed := uint64(2); seed < 300; seed += 10 {
		v, trace, _ := Replay(Options{Seed: seed, Limit: -1})
		if v != nil {
			t.Fatal(v)
		}
		if slices.ContainsFunc(trace, func(line string) bool {
			return strings.Contains(line, "bob restores the state of net: <nil>")
		}) {
			restored++
		}
	}
	if restored < 3 {
		t.Errorf("%d histories restored a state, want 3 or more", restored)
	}
}
