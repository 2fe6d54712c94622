package sim

import (
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

// Each of these histories violated an invariant once. The meaning of a seed changes with the model, so their value decreases with time.
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
		"a Run is deleted before a manager heard of it":              {Seed: 900385798},
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

// A user deletes a Run before the manager's watch has reported it, and the watch breaks: no event ever reports the deletion.
func TestRunIsDeletedBeforeWatchEvent(t *testing.T) {
	s := newShared()
	defer s.end()
	w := newWorld(s, Options{Seed: 1, Limit: 0})
	defer w.end()
	w.putCode()
	w.declare(0)
	m := w.newManager(0)
	w.managers, w.servers, w.quiet = []*manager{m}, []*server{w.newServer()}, true
	elect(w, 0, 0)
	for range 100 { // all but the watch of Runs continues
		for k := range kinds {
			for k != runs && m.view.behind(k) > 0 {
				m.hear(k)
			}
		}
		if len(m.queue[ofStack]) > 0 {
			m.reconcile(ofStack)
		}
	}
	if w.api.run("net-1") == nil || w.api.stack("net").Status.CurrentRun != "net-1" {
		t.Fatal(w.state())
	}
	if err := w.api.remove(runs, "net-1", nil, nil, false); err != nil {
		t.Fatal(err)
	}
	m.relist(runs)
	if w.rest(); w.violation != nil {
		t.Error(w.violation)
	}
}

// A user deletes a Run just before its apply starts, and changes the Stack. The pod applies, and saves its state; the next Run has another name, and
// starts once that pod has ended.
func TestRunIsDeletedDuringApply(t *testing.T) {
	s := newShared()
	defer s.end()
	w := newWorld(s, Options{Seed: 1, Limit: 0})
	defer w.end()
	w.putCode()
	w.declare(0)
	edit(w, w.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Apply, s.Spec.Variables = v1alpha1.ApplyAutomatic, variables(1) })
	w.managers, w.servers, w.quiet = []*manager{w.newManager(0)}, []*server{w.newServer()}, true
	var first *machine
	until(t, w, "the pod is told to apply", func() bool {
		if len(w.machines) > 0 {
			first = w.machines[0]
		}
		return first != nil && first.runner != nil && first.runner.attempt == 2
	})
	if err := w.api.remove(runs, "net-1", nil, nil, false); err != nil {
		t.Fatal(err)
	}
	edit(w, w.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Variables = variables(2) })
	until(t, w, "the next Run is created", func() bool { return len(w.api.objects[runs]) > 0 })
	if name := w.api.objects[runs][0].GetName(); name != "net-2" || first.runner.alive() {
		t.Errorf("Run %s is created, and the pod of net-1 is alive: %v", name, first.runner.alive())
	}
	if w.rest(); w.violation != nil {
		t.Error(w.violation)
	}
}

// The clock of a manager is ten minutes ahead when it detects a lost pod in the middle of an apply, and the Stack is suspended. Once the clock is correct,
// that time is ignored at first, and some minutes later the status reports that the runner may be abandoned: a write that no further reconciliation repeats.
func TestFutureTimeIsReportedOnce(t *testing.T) {
	s := newShared()
	defer s.end()
	w := newWorld(s, Options{Seed: 1, Limit: 0})
	defer w.end()
	w.putCode()
	w.declare(0)
	edit(w, w.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Apply, s.Spec.Retry.Limit = v1alpha1.ApplyAutomatic, of(int32(1)) })
	m := w.newManager(0)
	w.managers, w.servers, w.quiet = []*manager{m}, []*server{w.newServer()}, true
	until(t, w, "the pod is told to apply", func() bool {
		return len(w.machines) > 0 && w.machines[0].runner != nil && w.machines[0].runner.attempt == 2
	})
	m.skew, w.skewed = 600, true
	w.takeAway(w.machines[0].pod)
	edit(w, w.api.stack("net"), func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
	until(t, w, "the apply is lost", func() bool { return w.api.run("net-1").Status.Attempts[1].FinishedAt != nil })
	m.skew = 0
	w.resync()
	w.time += 320
	before := w.stats.Writes
	w.looksAgain()
	if w.violation != nil || w.stats.Writes == before {
		t.Errorf("%d writes: %v", w.stats.Writes-before, w.violation)
	}
}

// until takes steps and advances the clock until a condition holds.
func until(t *testing.T, w *world, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		if all := w.enabled(); len(all) > 0 {
			w.do(all[0])
		} else if w.time = w.nextTime(); w.time < 0 {
			break
		} else {
			w.ring()
		}
	}
	t.Fatalf("not until %s; %s", what, w.state())
}
