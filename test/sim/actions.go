package sim

import (
	"k8s.io/apimachinery/pkg/types"
)

// action is one possible next step.
type action struct {
	weight int
	do     func(w *world, a, b int)
	a, b   int
}

// machine is a node with its kubelet.
type machine struct {
	pod, run, stack string
	uid             types.UID
	// of is the name of its Stack, which may have been recreated since.
	of     types.UID
	runner *runner
	killAt int64
	code   int32
	// silent: the node is unreachable, and its processes have ended.
	silent bool
	told   bool
}

func (w *world) can(weight int, do func(*world, int, int), a, b int) {
	w.actions = append(w.actions, action{weight, do, a, b})
}

// enabled returns the possible next steps. Without faults, the first one is taken.
func (w *world) enabled() []action {
	w.actions = w.actions[:0]
	for i, m := range w.managers {
		w.ofManager(i, m)
	}
	for i, s := range w.servers {
		for k := range kinds {
			if s.view.behind(k) > 0 {
				w.can(8, hearServer, i, int(k))
			}
		}
	}
	w.ofRequests()
	for i, m := range w.machines {
		w.ofMachine(i, m)
	}
	if w.api.garbage().kind >= 0 {
		w.can(3, collect, 0, 0)
	}
	if !w.quiet {
		w.can(2, passTime, 0, 0)
		w.ofPeople()
		w.ofFaults()
	}
	return w.actions
}

func (w *world) ofManager(i int, m *manager) {
	if !m.alive {
		w.can(3, startManager, i, 0)
		return
	}
	if m.frozen {
		w.can(1, thawManager, i, 0)
		return
	}
	for k := range kinds {
		if m.view.behind(k) > 0 {
			w.can(6, hearManager, i, int(k))
		}
	}
	holder := w.lease >= 0 && w.managers[w.lease].alive && !w.managers[w.lease].frozen
	if m.leads && w.lease != i {
		w.can(2, stepDown, i, 0)
	}
	if !m.leads && !holder {
		w.can(3, elect, i, 0)
	}
	if !m.leads {
		return
	}
	for c := range controllers {
		switch {
		case m.busy[c] != nil:
			w.can(8, goOn, i, c)
		case len(m.queue[c]) > 0:
			w.can(8, reconcile, i, c)
		}
	}
}

func (w *world) all() bool { return w.script == nil && (w.quiet || w.chance(2)) }

// A watch delivers one event, or all that are pending.
func hearServer(w *world, i, k int) {
	v := w.servers[i].view
	for all := w.all(); v.behind(kind(k)) > 0; {
		if v.hear(kind(k)); !all {
			return
		}
	}
}

func hearManager(w *world, i, k int) {
	m := w.managers[i]
	for all := w.all(); m.view.behind(kind(k)) > 0; {
		if m.hear(kind(k)); !all {
			return
		}
	}
}

func reconcile(w *world, i, c int) { w.stats.Reconciles++; w.managers[i].reconcile(c) }
func goOn(w *world, i, c int) {
	if w.Trace {
		w.tracef("manager %d goes on with %s", i, w.managers[i].busy[c].name)
	}
	w.managers[i].resume(c)
}

func startManager(w *world, i, _ int) {
	w.tracef("manager %d starts", i)
	w.managers[i].start()
}

func thawManager(w *world, i, _ int) {
	w.tracef("manager %d goes on after it was frozen", i)
	w.managers[i].frozen = false
	w.managers[i].ring()
}

func stepDown(w *world, i, _ int) {
	w.tracef("manager %d finds that it leads no more, and ends", i)
	w.managers[i].end()
}

func elect(w *world, i, _ int) {
	w.tracef("manager %d leads", i)
	w.lease = i
	w.managers[i].lead()
}

func collect(w *world, _, _ int) {
	g := w.api.garbage()
	w.tracef("garbage: %s %s", kindNames[g.kind], g.name)
	_ = w.api.remove(g.kind, g.name, nil, nil, false)
}

// passTime advances the clock to the next requeue, or a little, but not past the deadline of an abandoned runner.
func passTime(w *world, _, _ int) {
	to := w.time + int64(1+w.rand(20))
	if next := w.nextTime(); next > w.time && w.chance(2) && (next < w.time+90 || w.chance(6)) {
		to = next
	}
	for _, m := range w.machines {
		if r := m.runner; r != nil && r.alive() && r.detached && !r.frozen && !w.skewed {
			to = min(to, r.by)
		}
	}
	if to > w.time {
		w.time = to
		w.ring()
	}
}

// nextTime returns the time of the next requeue; -1 for none.
func (w *world) nextTime() int64 {
	next := int64(-1)
	at := func(t int64) {
		if t > w.time && (next < 0 || t < next) {
			next = t
		}
	}
	for _, m := range w.managers {
		if m.alive && m.leads {
			for _, t := range m.timers {
				at(t.at)
			}
		}
	}
	for _, m := range w.machines {
		if r := m.runner; r != nil && r.alive() {
			if r.waits {
				at(r.wakeAt)
			}
			if r.told {
				at(m.killAt)
			}
		}
	}
	return next
}
