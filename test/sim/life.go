package sim

// Run runs a history. The error is a *Violation.
func (s *shared) run(o Options) (*Violation, Stats) { return newSimulation(s, o).live() }

func (sim *simulation) live() (*Violation, Stats) {
	defer sim.end()
	sim.settle()
	n := 60 + sim.rand(180)
	if len(sim.commits) > 0 { // so that a push finds two Stacks that are Ready
		n += 300
	}
	if len(sim.pulls) > 0 { // so that what is held is applied, and left
		n += 700
	}
	if sim.restores > 0 { // so that restored Stacks apply
		n += 200
	}
	for ; n > 0 && sim.violation == nil; n-- {
		sim.take(sim.enabled())
	}
	sim.calm()
	sim.rest()
	if name := sim.api.changed(); name != "" {
		sim.violate("model", "%s was changed in place", name)
	}
	if sim.violation != nil {
		sim.violation.Trace = sim.trace
	}
	sim.stats.Steps = sim.step
	for _, t := range sim.resources {
		if t.excused != "" {
			sim.stats.Excused++
		}
	}
	sim.stats.Creates = len(sim.resources)
	return sim.violation, sim.stats
}

// rest continues until nothing changes.
func (sim *simulation) rest() {
	for round := 0; sim.violation == nil; round++ {
		before := sim.stats.Writes
		sim.settleDown()
		if sim.violation != nil || !sim.pass(before != sim.stats.Writes, round) {
			break
		}
	}
	if sim.violation == nil {
		sim.script = nil
		sim.checkRest()
	}
}

// end ends all tasks.
func (sim *simulation) end() {
	for _, t := range sim.tasks {
		sim.kill(t)
	}
}

// take takes one of the possible steps.
func (sim *simulation) take(all []action) {
	sum := 0
	for _, a := range all {
		sum += a.weight
	}
	if sum == 0 {
		return
	}
	n := sim.rand(sum)
	for _, a := range all {
		if n -= a.weight; n < 0 {
			sim.do(a)
			return
		}
	}
}

func (sim *simulation) do(a action) {
	sim.step++
	a.do(sim, a.a, a.b)
	sim.bury()
	if sim.dirty {
		sim.dirty = false
		sim.nothingIsLost()
	}
}

// bury ends the managers that a fault killed in the middle of a step.
func (sim *simulation) bury() {
	for _, id := range sim.doomed {
		sim.managers[id].end()
		if sim.lease == id {
			sim.lease = -1
		}
	}
	sim.doomed = sim.doomed[:0]
	for _, r := range sim.dying {
		sim.killRunner(r)
	}
	sim.dying = sim.dying[:0]
}

// bound is the number of steps within which a history comes to rest once faults have ended.
const bound = 4000

// settleDown takes all steps that are possible without advancing the clock.
func (sim *simulation) settleDown() {
	for n := 0; sim.violation == nil; n++ {
		all := sim.enabled()
		if len(all) == 0 {
			return
		}
		if n > bound {
			sim.violate("I9", "%d steps after the last fault it goes on, at last with %s", n, sim.state())
			return
		}
		at := 0
		if sim.script != nil {
			at = sim.script.which(len(all))
		}
		sim.do(all[at])
	}
}

// pass advances the clock to the next requeue, and reports whether there is one.
func (sim *simulation) pass(wrote bool, round int) bool {
	next := sim.nextTime()
	if next < 0 || (!wrote && next > sim.time+4*3600) {
		return false
	}
	if round > 150 {
		if wrote {
			sim.violate("I6", "it goes on to write, %s after the last fault: %s", after(sim.time).Sub(after(0)),
				sim.state())
		}
		return false
	}
	sim.time = next
	sim.enqueueDue()
	return true
}
