package sim

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// ofFaults returns the possible faults.
func (sim *simulation) ofFaults() {
	if sim.budget <= 0 {
		return
	}
	sim.can(1, spoil, 0, 0)
}

// spoil injects a fault.
func spoil(sim *simulation, _, _ int) {
	sim.budget--
	sim.stats.Faults++
	switch sim.rand(12) {
	case 0:
		if i := sim.rand(2); sim.managers[i].alive {
			sim.tracef("!  manager %d ends", i)
			sim.doomed = append(sim.doomed, i)
		}
	case 1, 2:
		if i := sim.rand(2); sim.managers[i].alive {
			sim.tracef("!  manager %d is frozen", i)
			sim.managers[i].frozen = true
		}
	case 3:
		i, k := sim.rand(2), kind(sim.rand(int(secrets)))
		sim.tracef("!  the watch of manager %d on %ss breaks", i, kindNames[k])
		sim.managers[i].relist(k)
	case 4:
		m := sim.managers[sim.rand(2)]
		m.skew += int64(sim.rand(4000) - 2000)
		sim.skewed = true
		sim.tracef("!  the clock of manager %d is off by %ds", m.id, m.skew)
	case 5:
		if len(sim.machines) > 0 {
			sim.tracef("!  memory runs out")
			if i := sim.rand(len(sim.machines)); sim.machines[i].runner != nil && sim.machines[i].runner.alive() {
				killPod(sim, i, 0)
			}
		}
	case 6, 7:
		if m := sim.aliveMachine(); m != nil {
			sim.tracef("!  pod %s is frozen", m.pod)
			m.runner.frozen = true
		}
	case 8:
		if m := sim.aliveMachine(); m != nil {
			sim.tracef("!  the node of pod %s is gone", m.pod)
			m.silent = true
			sim.killRunner(m.runner)
		}
	case 9:
		sim.byForce()
	case 10:
		for i := range sim.machines {
			if sim.machines[i].silent {
				nodeIsOff(sim, i, 0)
				return
			}
		}
	case 11:
		if i := pick(sim, pods); i >= 0 {
			sim.tracef("!  pod %s is evicted", sim.api.objects[pods][i].GetName())
			_ = sim.api.remove(pods, sim.api.objects[pods][i].GetName(), nil, nil, false)
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
			m.enqueueOwner(was)
			m.enqueueFor(k, change{o: o})
		}
	}
	for _, o := range before {
		if find(m.view.objects[k], o.GetName()) == nil {
			m.enqueueFor(k, change{o, true})
		}
	}
}

func (sim *simulation) aliveMachine() *machine {
	var all []*machine
	for _, m := range sim.machines {
		if m.runner != nil && m.runner.alive() && !m.silent {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[sim.rand(len(all))]
}

// byForce deletes a pod by force: its object is removed, and its processes receive SIGTERM.
func (sim *simulation) byForce() {
	i := pick(sim, pods)
	if i < 0 {
		return
	}
	sim.takeAway(sim.api.objects[pods][i].GetName())
}

// takeAway deletes a pod by force.
func (sim *simulation) takeAway(name string) {
	pod := sim.api.pod(name)
	if pod == nil {
		return
	}
	uid := pod.UID
	sim.tracef("!  pod %s is deleted by force", name)
	_ = sim.api.remove(pods, name, nil, nil, true)
	for _, m := range sim.machines {
		if r := m.runner; m.uid == uid && r != nil && r.alive() {
			r.detached, r.by = true, sim.time+100
			if r.frozen || sim.skewed || !sim.isNamed(r) {
				sim.beyond(r)
			}
		}
	}
}

// isNamed reports whether a Run names the runner's pod, and so records it. A pod of that name may have been recreated.
func (sim *simulation) isNamed(r *runner) bool {
	of := sim.api.run(r.run)
	return of != nil && metav1.GetControllerOfNoCopy(of) != nil &&
		slices.ContainsFunc(of.Status.Attempts, func(a v1alpha1.Attempt) bool {
			return a.PodUID == r.uid
		})
}

// calm ends all faults: frozen processes continue, stopped ones start, and clocks are correct.
func (sim *simulation) calm() {
	sim.tracef("---- nothing fails any more")
	sim.quiet = true
	if sim.api.get(configMaps, "code") == nil {
		sim.putCode()
	}
	if sim.deletesOften() && sim.api.get(secrets, "token") == nil {
		sim.putSecret()
	}
	for _, m := range sim.managers {
		m.frozen = false
		if m.skew != 0 && m.leads { // decisions by the wrong clock change only at the next reconciliation
			m.skew = 0
			m.enqueueAll()
		}
		m.enqueueDue()
	}
	for _, m := range sim.machines {
		if m.runner != nil {
			m.runner.frozen = false
		}
	}
}

// aimed injects a fault in the middle of an apply, where a single check may protect it, with an action of a user.
func (sim *simulation) aimed(r *runner) {
	if sim.aims == 0 || sim.quiet || !sim.chance(3) {
		return
	}
	sim.aims--
	sim.stats.Faults++
	switch sim.rand(6) {
	case 0, 1:
		sim.tracef("!  pod %s is frozen", r.pod)
		r.frozen = true
	case 2:
		sim.tracef("!  memory runs out in pod %s", r.pod)
		sim.dying = append(sim.dying, r)
	case 3:
		sim.takeAway(r.pod)
		r.slow = true
	default:
		sim.tracef("!  pod %s is slow", r.pod)
		r.slow = true
	}
	switch sim.rand(7) {
	case 0, 1:
		if sim.api.run(r.run) != nil {
			sim.tracef("bob deletes Run %s", r.run)
			_ = sim.api.remove(runs, r.run, nil, nil, false)
		}
	case 2:
		if sim.api.stack(r.stack) != nil {
			sim.tracef("bob deletes Stack %s", r.stack)
			_ = sim.api.remove(stacks, r.stack, nil, nil, false)
		}
	case 3:
		if sim.api.pod(r.pod) != nil {
			sim.tracef("!  pod %s is evicted", r.pod)
			_ = sim.api.remove(pods, r.pod, nil, nil, false)
		}
	case 4:
		sim.takeAway(r.pod)
	case 5:
		if s := sim.api.stack(r.stack); s != nil {
			sim.wishOfStack(s, sim.rand(17))
		}
	}
	sim.pause()
}
