package sim

import (
	"k8s.io/apimachinery/pkg/types"
)

// action is one possible next step.
type action struct {
	weight int
	do     func(sim *simulation, a, b int)
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
	silent      bool
	endReported bool
}

func (sim *simulation) can(weight int, do func(*simulation, int, int), a, b int) {
	sim.actions = append(sim.actions, action{weight, do, a, b})
}

// enabled returns the possible next steps. Without faults, the first one is taken.
func (sim *simulation) enabled() []action {
	sim.actions = sim.actions[:0]
	for i, m := range sim.managers {
		sim.ofManager(i, m)
	}
	for i, s := range sim.servers {
		for k := range kinds {
			if s.view.behind(k) > 0 {
				sim.can(8, deliverToServer, i, int(k))
			}
		}
	}
	sim.ofRequests()
	for i, m := range sim.machines {
		sim.ofMachine(i, m)
	}
	if sim.api.garbage().kind >= 0 {
		sim.can(3, collect, 0, 0)
	}
	sim.ofPulls()
	if !sim.quiet {
		sim.can(2, passTime, 0, 0)
		sim.ofUsers()
		sim.ofFaults()
	}
	return sim.actions
}

func (sim *simulation) ofManager(i int, m *manager) {
	if !m.alive {
		sim.can(3, startManager, i, 0)
		return
	}
	if m.frozen {
		sim.can(1, thawManager, i, 0)
		return
	}
	for k := range kinds {
		if m.view.behind(k) > 0 {
			sim.can(6, deliverToManager, i, int(k))
		}
	}
	holder := sim.lease >= 0 && sim.managers[sim.lease].alive && !sim.managers[sim.lease].frozen
	if m.leads && sim.lease != i {
		sim.can(2, stepDown, i, 0)
	}
	if !m.leads && !holder {
		sim.can(3, elect, i, 0)
	}
	if !m.leads {
		return
	}
	if len(sim.commits) > 0 {
		sim.ofMirror(i, m)
	}
	for c := range controllers {
		switch {
		case m.busy[c] != nil:
			sim.can(8, goOn, i, c)
		case len(m.queue[c]) > 0:
			sim.can(8, reconcile, i, c)
		}
	}
}

func (sim *simulation) all() bool { return sim.script == nil && (sim.quiet || sim.chance(2)) }

// A watch delivers one event, or all that are pending.
func deliverToServer(sim *simulation, i, k int) {
	v := sim.servers[i].view
	for all := sim.all(); v.behind(kind(k)) > 0; {
		if v.receive(kind(k)); !all {
			return
		}
	}
}

func deliverToManager(sim *simulation, i, k int) {
	m := sim.managers[i]
	for all := sim.all(); m.view.behind(kind(k)) > 0; {
		if m.receive(kind(k)); !all {
			return
		}
	}
}

func reconcile(sim *simulation, i, c int) { sim.stats.Reconciles++; sim.managers[i].reconcile(c) }
func goOn(sim *simulation, i, c int) {
	if sim.Trace {
		sim.tracef("manager %d goes on with %s", i, sim.managers[i].busy[c].name)
	}
	sim.managers[i].resume(c)
}

func startManager(sim *simulation, i, _ int) {
	sim.tracef("manager %d starts", i)
	sim.managers[i].start()
}

func thawManager(sim *simulation, i, _ int) {
	sim.tracef("manager %d goes on after it was frozen", i)
	sim.managers[i].frozen = false
	sim.managers[i].enqueueDue()
}

func stepDown(sim *simulation, i, _ int) {
	sim.tracef("manager %d finds that it leads no more, and ends", i)
	sim.managers[i].end()
}

func elect(sim *simulation, i, _ int) {
	sim.tracef("manager %d leads", i)
	sim.lease = i
	sim.managers[i].lead()
}

func collect(sim *simulation, _, _ int) {
	g := sim.api.garbage()
	sim.tracef("garbage: %s %s", kindNames[g.kind], g.name)
	_ = sim.api.remove(g.kind, g.name, nil, nil, false)
}

// passTime advances the clock to the next requeue, or a little, but not past the deadline of an abandoned runner.
func passTime(sim *simulation, _, _ int) {
	to := sim.time + int64(1+sim.rand(20))
	if next := sim.nextTime(); next > sim.time && sim.chance(2) && (next < sim.time+90 || sim.chance(6)) {
		to = next
	}
	for _, m := range sim.machines {
		if r := m.runner; r != nil && r.alive() && r.detached && !r.frozen && !sim.skewed {
			to = min(to, r.by)
		}
	}
	if to > sim.time {
		sim.time = to
		sim.enqueueDue()
	}
}

// nextTime returns the time of the next requeue; -1 for none.
func (sim *simulation) nextTime() int64 {
	next := int64(-1)
	at := func(t int64) {
		if t > sim.time && (next < 0 || t < next) {
			next = t
		}
	}
	for _, m := range sim.managers {
		if m.alive && m.leads {
			for _, t := range m.timers {
				at(t.at)
			}
		}
	}
	for _, m := range sim.machines {
		if r := m.runner; r != nil && r.alive() {
			if r.waits {
				at(r.wakeAt)
			}
			if r.terminating {
				at(m.killAt)
			}
		}
	}
	return next
}
