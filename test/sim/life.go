package sim

// Run runs a history. The error is a *Violation.
func (s *shared) run(o Options) (*Violation, Stats) { return newWorld(s, o).live() }

func (w *world) live() (*Violation, Stats) {
	defer w.end()
	w.settle()
	for n := 60 + w.rand(180); n > 0 && w.violation == nil; n-- {
		w.take(w.enabled())
	}
	w.calm()
	w.rest()
	if name := w.api.changed(); name != "" {
		w.violate("model", "%s was changed in place", name)
	}
	if w.violation != nil {
		w.violation.Trace = w.trace
	}
	w.stats.Steps = w.step
	for _, t := range w.things {
		if t.excused != "" {
			w.stats.Excused++
		}
	}
	w.stats.Creates = len(w.things)
	return w.violation, w.stats
}

// rest continues until nothing changes.
func (w *world) rest() {
	for round := 0; w.violation == nil; round++ {
		before := w.stats.Writes
		w.settleDown()
		if w.violation != nil || !w.pass(before != w.stats.Writes, round) {
			break
		}
	}
	if w.violation == nil {
		w.script = nil
		w.stands()
	}
}

// end ends all tasks.
func (w *world) end() {
	for _, t := range w.tasks {
		w.kill(t)
	}
}

// take takes one of the possible steps.
func (w *world) take(all []action) {
	sum := 0
	for _, a := range all {
		sum += a.weight
	}
	if sum == 0 {
		return
	}
	n := w.rand(sum)
	for _, a := range all {
		if n -= a.weight; n < 0 {
			w.do(a)
			return
		}
	}
}

func (w *world) do(a action) {
	w.step++
	a.do(w, a.a, a.b)
	w.bury()
	if w.dirty {
		w.dirty = false
		w.nothingIsLost()
	}
}

// bury ends the managers that a fault killed in the middle of a step.
func (w *world) bury() {
	for _, id := range w.doomed {
		w.managers[id].end()
		if w.lease == id {
			w.lease = -1
		}
	}
	w.doomed = w.doomed[:0]
	for _, r := range w.dying {
		w.killRunner(r)
	}
	w.dying = w.dying[:0]
}

// bound is the number of steps within which a history comes to rest once faults have ended.
const bound = 4000

// settleDown takes all steps that are possible without advancing the clock.
func (w *world) settleDown() {
	for n := 0; w.violation == nil; n++ {
		all := w.enabled()
		if len(all) == 0 {
			return
		}
		if n > bound {
			w.violate("I9", "%d steps after the last fault it goes on, at last with %s", n, w.state())
			return
		}
		at := 0
		if w.script != nil {
			at = w.script.which(len(all))
		}
		w.do(all[at])
	}
}

// pass advances the clock to the next requeue, and reports whether there is one.
func (w *world) pass(wrote bool, round int) bool {
	next := w.nextTime()
	if next < 0 || (!wrote && next > w.time+4*3600) {
		return false
	}
	if round > 150 {
		if wrote {
			w.violate("I6", "it goes on to write, %s after the last fault: %s", after(w.time).Sub(after(0)), w.state())
		}
		return false
	}
	w.time = next
	w.ring()
	return true
}
