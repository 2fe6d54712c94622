package sim

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// ofFaults returns the possible faults.
func (w *world) ofFaults() {
	if w.budget <= 0 {
		return
	}
	w.can(1, spoil, 0, 0)
}

// spoil injects a fault.
func spoil(w *world, _, _ int) {
	w.budget--
	w.stats.Faults++
	switch w.rand(12) {
	case 0:
		if i := w.rand(2); w.managers[i].alive {
			w.tracef("!  manager %d ends", i)
			w.doomed = append(w.doomed, i)
		}
	case 1, 2:
		if i := w.rand(2); w.managers[i].alive {
			w.tracef("!  manager %d is frozen", i)
			w.managers[i].frozen = true
		}
	case 3:
		i, k := w.rand(2), kind(w.rand(int(secrets)))
		w.tracef("!  the watch of manager %d on %ss breaks", i, kindNames[k])
		w.managers[i].relist(k)
	case 4:
		m := w.managers[w.rand(2)]
		m.skew += int64(w.rand(4000) - 2000)
		w.skewed = true
		w.tracef("!  the clock of manager %d is off by %ds", m.id, m.skew)
	case 5:
		if len(w.machines) > 0 {
			w.tracef("!  memory runs out")
			if i := w.rand(len(w.machines)); w.machines[i].runner != nil && w.machines[i].runner.alive() {
				killPod(w, i, 0)
			}
		}
	case 6, 7:
		if m := w.aliveMachine(); m != nil {
			w.tracef("!  pod %s is frozen", m.pod)
			m.runner.frozen = true
		}
	case 8:
		if m := w.aliveMachine(); m != nil {
			w.tracef("!  the node of pod %s is gone", m.pod)
			m.silent = true
			w.killRunner(m.runner)
		}
	case 9:
		w.byForce()
	case 10:
		for i := range w.machines {
			if w.machines[i].silent {
				nodeIsOff(w, i, 0)
				return
			}
		}
	case 11:
		if i := pick(w, pods); i >= 0 {
			w.tracef("!  pod %s is evicted", w.api.objects[pods][i].GetName())
			_ = w.api.remove(pods, w.api.objects[pods][i].GetName(), nil, nil, false)
		}
	}
}

func (m *manager) relist(k kind) {
	if !m.alive {
		return
	}
	before := slices.Clone(m.view.objects[k])
	m.view.relist(k)
	if !m.leads {
		return
	}
	for _, o := range m.view.objects[k] {
		if was := find(before, o.GetName()); was == nil || was.GetResourceVersion() != o.GetResourceVersion() {
			m.tell(k, change{o: o})
		}
	}
	for _, o := range before {
		if find(m.view.objects[k], o.GetName()) == nil {
			m.tell(k, change{o, true})
		}
	}
}

func (w *world) aliveMachine() *machine {
	var all []*machine
	for _, m := range w.machines {
		if m.runner != nil && m.runner.alive() && !m.silent {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rand(len(all))]
}

// byForce deletes a pod by force: its object is removed, and its processes receive SIGTERM.
func (w *world) byForce() {
	i := pick(w, pods)
	if i < 0 {
		return
	}
	w.takeAway(w.api.objects[pods][i].GetName())
}

// takeAway deletes a pod by force.
func (w *world) takeAway(name string) {
	pod := w.api.pod(name)
	if pod == nil {
		return
	}
	uid := pod.UID
	w.tracef("!  pod %s is deleted by force", name)
	_ = w.api.remove(pods, name, nil, nil, true)
	for _, m := range w.machines {
		if r := m.runner; m.uid == uid && r != nil && r.alive() {
			r.detached, r.by = true, w.time+100
			if r.frozen || w.skewed || !w.isNamed(r) {
				w.beyond(r)
			}
		}
	}
}

// isNamed reports whether a Run names the runner's pod, and so records it. A pod of that name may have been recreated.
func (w *world) isNamed(r *runner) bool {
	of := w.api.run(r.run)
	return of != nil && slices.ContainsFunc(of.Status.Attempts, func(a v1alpha1.Attempt) bool { return a.PodUID == r.uid })
}

// calm ends all faults: frozen processes continue, stopped ones start, and clocks are correct.
func (w *world) calm() {
	w.tracef("---- nothing fails any more")
	w.quiet = true
	if w.api.get(configMaps, "code") == nil {
		w.putCode()
	}
	if w.deletesOften() && w.api.get(secrets, "token") == nil {
		w.putSecret()
	}
	for _, m := range w.managers {
		m.frozen = false
		if m.skew != 0 && m.leads { // decisions by the wrong clock change only at the next reconciliation
			m.skew = 0
			m.lookAtAll()
		}
		m.ring()
	}
	for _, m := range w.machines {
		if m.runner != nil {
			m.runner.frozen = false
		}
	}
}

// aimed injects a fault in the middle of an apply, where a single check may protect it, with an action of a user.
func (w *world) aimed(r *runner) {
	if w.aims == 0 || w.quiet || !w.chance(3) {
		return
	}
	w.aims--
	w.stats.Faults++
	switch w.rand(6) {
	case 0, 1:
		w.tracef("!  pod %s is frozen", r.pod)
		r.frozen = true
	case 2:
		w.tracef("!  memory runs out in pod %s", r.pod)
		w.dying = append(w.dying, r)
	case 3:
		w.takeAway(r.pod)
		r.slow = true
	default:
		w.tracef("!  pod %s is slow", r.pod)
		r.slow = true
	}
	switch w.rand(7) {
	case 0, 1:
		if w.api.run(r.run) != nil {
			w.tracef("bob deletes Run %s", r.run)
			_ = w.api.remove(runs, r.run, nil, nil, false)
		}
	case 2:
		if w.api.stack(r.stack) != nil {
			w.tracef("bob deletes Stack %s", r.stack)
			_ = w.api.remove(stacks, r.stack, nil, nil, false)
		}
	case 3:
		if w.api.pod(r.pod) != nil {
			w.tracef("!  pod %s is evicted", r.pod)
			_ = w.api.remove(pods, r.pod, nil, nil, false)
		}
	case 4:
		w.takeAway(r.pod)
	case 5:
		if s := w.api.stack(r.stack); s != nil {
			w.wishOfStack(s, w.rand(17))
		}
	}
	w.pause()
}
