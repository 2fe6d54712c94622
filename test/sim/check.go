package sim

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

func noPolicies(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
	return nil, false, nil
}

// wrote checks the invariants at each write to the API server.
func (sim *simulation) wrote(k kind, old, now client.Object) {
	if sim.writer != nil {
		sim.stats.Writes++
	}
	if sim.recreating {
		return
	}
	switch k {
	case stacks:
		if now == nil {
			sim.stackGoes(old.(*v1alpha1.Stack))
			break
		}
		s := now.(*v1alpha1.Stack)
		if s.Spec.Apply == v1alpha1.ApplyAutomatic {
			sim.automatic[s.Name] = true
		}
		if old != nil {
			sim.stackWritten(old.(*v1alpha1.Stack), s)
			sim.holdWritten(old.(*v1alpha1.Stack), s)
		}
	case runs:
		if now == nil {
			sim.runGoes(old.GetName())
			return
		}
		if old == nil {
			sim.stats.Runs++
			sim.runCreated(now.(*v1alpha1.Run))
			break
		}
		sim.runWritten(old.(*v1alpha1.Run), now.(*v1alpha1.Run))
	case states:
		sim.dirty = true
		if now != nil && old != nil {
			sim.stateWritten(old.(*v1alpha1.State), now.(*v1alpha1.State))
		}
	case pods:
		if old == nil {
			pod := now.(*corev1.Pod)
			owner := metav1.GetControllerOfNoCopy(pod)
			m := &machine{pod: pod.Name, run: owner.Name, stack: pod.Labels[runinfo.LabelStack], uid: pod.UID}
			if r := sim.api.run(owner.Name); r != nil && r.UID == owner.UID {
				if stack := metav1.GetControllerOfNoCopy(r); stack != nil {
					m.of = stack.UID
				}
			}
			sim.machines = append(sim.machines, m)
		}
	}
	if sim.Trace && now != nil {
		sim.tracef("      = %s", describe(now))
	}
}

// runCreated: the name of a Run is never reused within its Stack.
func (sim *simulation) runCreated(r *v1alpha1.Run) {
	name := nameOf{metav1.GetControllerOfNoCopy(r).UID, r.Name}
	if sim.names[name] {
		sim.violate("I1", "a second Run of the Stack is named %s", r.Name)
	}
	sim.names[name] = true
	sim.holdAllows(r)
}

// runBegins: at most one Run of a Stack is active, and no pod of a deleted Run. A Run that a former leader creates
// late gets no pod.
func (sim *simulation) runBegins(r *v1alpha1.Run) {
	for _, m := range sim.machines {
		o := m.runner
		if o == nil || !o.alive() || !o.applying || o.stack != r.Spec.Stack.Name || sim.api.run(o.run) != nil {
			continue
		}
		// a recreated pod of the same name is another one
		if pod := sim.api.pod(o.pod); pod != nil && pod.UID == o.uid {
			sim.violate("I1", "Run %s begins while pod %s applies, whose Run was deleted", r.Name, o.pod)
		}
	}
	for _, o := range sim.api.objects[runs] {
		other := o.(*v1alpha1.Run)
		if other.Name != r.Name && sameOwner(other, r) && !other.Status.Phase.Finished() && begun(other) &&
			runinfo.Number(other.Name) > runinfo.Number(r.Name) {
			sim.violate("I1", "Run %s begins after Run %s", r.Name, other.Name)
		}
	}
}

// stackWritten: the number of the last Run increases, and the active Run is the last one.
func (sim *simulation) stackWritten(old, now *v1alpha1.Stack) {
	if s := now.Status; s.CurrentRun != "" && s.CurrentRun != s.LastRun {
		sim.violate("I1", "the Run of Stack %s is %s, and the last one that was named is %q", now.Name, s.CurrentRun,
			s.LastRun)
	}
	if was, is := runinfo.Number(old.Status.LastRun), runinfo.Number(now.Status.LastRun); is < was &&
		old.Status.LastRun != "" {
		sim.violate("I10", "the last Run of Stack %s is %q after it was %q", now.Name, now.Status.LastRun,
			old.Status.LastRun)
	}
}

func sameOwner(a, b *v1alpha1.Run) bool {
	x, y := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return x != nil && y != nil && x.UID == y.UID
}

func begun(r *v1alpha1.Run) bool { return len(r.Status.Attempts) > 0 }

// rank orders the phases: a Run moves up, except for a new attempt.
var rank = map[v1alpha1.RunPhase]int{
	"": 0, v1alpha1.PhaseQueued: 1, v1alpha1.PhasePlanning: 2, v1alpha1.PhaseAwaitingApproval: 3,
	v1alpha1.PhaseApplying: 4,
}

func (sim *simulation) runWritten(old, now *v1alpha1.Run) {
	if sim.writer != nil {
		if sim.writesOf[string(now.UID)]++; sim.writesOf[string(now.UID)] > 30+12*lastNumber(now) {
			sim.violate("I9", "Run %s was written %d times for %d attempts", now.Name, sim.writesOf[string(now.UID)],
				lastNumber(now))
		}
	}
	sim.runEnds(old, now)
	before, after := lastNumber(old), lastNumber(now)
	if before == 0 && after > 0 {
		sim.runBegins(now)
	}
	switch {
	case old.Status.Phase.Finished() && now.Status.Phase != old.Status.Phase:
		sim.violate("I10", "Run %s is %s after it was %s", now.Name, now.Status.Phase, old.Status.Phase)
	case after < before || after > before+1:
		sim.violate("I10", "Run %s is at attempt %d after attempt %d", now.Name, after, before)
	case after == before && !now.Status.Phase.Finished() && rank[now.Status.Phase] < rank[old.Status.Phase]:
		sim.violate("I10", "Run %s goes back from %s to %s", now.Name, old.Status.Phase, now.Status.Phase)
	}
	for _, a := range now.Status.Attempts {
		of := attemptOf{now.UID, a.Number}
		if _, known := sim.finished[of]; a.FinishedAt != nil && !known {
			sim.finished[of] = sim.step
		}
	}
	for _, a := range old.Status.Attempts {
		for _, b := range now.Status.Attempts {
			if a.Number == b.Number && (a.PodUID != b.PodUID || a.Phase != b.Phase ||
				(a.FinishedAt != nil && b.FinishedAt == nil)) {
				sim.violate("I10", "attempt %d of Run %s became another one", a.Number, now.Name)
			}
		}
	}
	if after == before {
		return
	}
	for _, o := range sim.api.objects[runs] {
		other := o.(*v1alpha1.Run)
		if n := len(other.Status.Attempts); other.Name != now.Name && other.Spec.Stack.Name == now.Spec.Stack.Name &&
			n > 0 && other.Status.Attempts[n-1].FinishedAt == nil && !other.Status.Phase.Finished() &&
			sameOwner(other, now) {
			sim.violate("I1", "Run %s begins attempt %d while Run %s is at attempt %d", now.Name, after, other.Name,
				lastNumber(other))
		}
	}
	if a := now.Status.Attempts[len(now.Status.Attempts)-1]; a.Phase == v1alpha1.AttemptApply {
		sim.stats.Applies++
		sim.applyBegins(now)
	}
}

func lastNumber(r *v1alpha1.Run) int {
	if n := len(r.Status.Attempts); n > 0 {
		return int(r.Status.Attempts[n-1].Number)
	}
	return 0
}

// applyBegins: the applied plan is the approved one, or needs no approval.
func (sim *simulation) applyBegins(r *v1alpha1.Run) {
	p := r.Status.Plan
	if p == nil {
		sim.violate("I4", "Run %s applies without a plan", r.Name)
		return
	}
	if kept := sim.plans[p.Digest]; kept == nil || kept.inputs != r.Spec.InputsDigest {
		sim.violate("I4", "Run %s applies plan %s, which is not of its inputs", r.Name, short(p.Digest))
	}
	if n := r.Spec.Rejection; n != nil && n.PlanDigest == p.Digest {
		sim.violate("I4", "Run %s applies plan %s, which was rejected", r.Name, short(p.Digest))
	}
	a, carried := r.Spec.Approval, r.Status.CarriedApproval
	approved := a != nil && a.PlanDigest == p.Digest || carried != nil && carried.PlanDigest == p.Digest
	// at any time, since the age of the input of a decision is not bounded
	if sim.leavesPull(r, approved); sim.automatic[r.Spec.Stack.Name] {
		return
	}
	if !approved {
		sim.violate("I4", "Run %s applies plan %s, which is not approved", r.Name, short(p.Digest))
	}
}

// stateWritten: the holder of the lock writes each version, in its current attempt; serials increase.
func (sim *simulation) stateWritten(old, now *v1alpha1.State) {
	a, b := old.Status, now.Status
	if l, m := a.Lock, b.Lock; l != nil && m != nil && l.ID != m.ID {
		if x := sim.runnerOf(string(l.PodUID)); x != nil && x.alive() && !sim.excusesTwo(x) {
			sim.violate("I1", "the lock of State %s goes from %s to %s, while pod %s is alive", now.Name, l.ID,
				m.ID, x.pod)
		}
	}
	if b.Version == a.Version {
		return
	}
	if b.Version != a.Version+1 || (b.Serial < a.Serial && a.Lineage == b.Lineage) {
		sim.violate("I1", "State %s goes from version %d, serial %d to version %d, serial %d", now.Name, a.Version,
			a.Serial, b.Version, b.Serial)
	}
	if a.Lineage != "" && a.Lineage != b.Lineage {
		sim.violate("I1", "State %s gets another lineage", now.Name)
	}
	v := b.Versions[len(b.Versions)-1]
	if v.By != "" { // a user restored it
		return
	}
	if sim.rescuing(v) {
		sim.follows(a, v)
		return
	}
	if l := a.Lock; l == nil || l.Run != v.Run || l.Attempt != v.Attempt {
		sim.violate("I1", "attempt %d of Run %s writes State %s, and does not hold its lock", v.Attempt,
			v.Run, now.Name)
	}
	r := sim.api.run(v.Run)
	if r == nil {
		return
	}
	began := sim.step
	if sim.task != nil {
		began = sim.task.began
	}
	if at, over := sim.finished[attemptOf{r.UID, v.Attempt}]; over && at < began {
		sim.violate("I1", "attempt %d of Run %s writes State %s, and is over since step %d", v.Attempt, v.Run,
			now.Name, at)
	}
}

// follows: a rescued state is written onto the version that it is based on, or onto one of the same attempt.
func (sim *simulation) follows(before v1alpha1.StateStatus, v v1alpha1.StateVersion) {
	base, known := sim.bases[v.SHA256]
	if n := len(before.Versions); n > 0 && known && base != before.SHA256 {
		if last := before.Versions[n-1]; last.Run != v.Run || last.Attempt != v.Attempt {
			sim.violate("I2", "the state that attempt %d of Run %s rescued is written over version %d, which it did "+
				"not start from", v.Attempt, v.Run, last.Version)
		}
	}
}

// rescuing records that a version was rescued, which a finished attempt may do.
func (sim *simulation) rescuing(v v1alpha1.StateVersion) bool {
	_, err := sim.bucket.Get(ctx, "rescue/"+namespace+"/"+
		strings.TrimSuffix(v.Run, v.Run[strings.LastIndexByte(v.Run, '-'):])+"/"+v.SHA256, 1)
	return err == nil
}

func (sim *simulation) runnerOf(uid string) *runner {
	for _, m := range sim.machines {
		if string(m.uid) == uid {
			return m.runner
		}
	}
	return nil
}

// runGoes: once a Run is deleted, or not its Stack's, it is no longer recorded that the runner of a removed pod may be
// abandoned.
func (sim *simulation) runGoes(name string) {
	for _, m := range sim.machines {
		if r := m.runner; r != nil && r.alive() && r.detached && r.run == name {
			sim.beyond(r)
		}
	}
}

// beyond marks a runner that nothing can reach: its pod was removed while it was frozen, or its Run too, which asserts
// that it has ended.
func (sim *simulation) beyond(r *runner) {
	sim.tracef("   pod %s is beyond reach", r.pod)
	r.beyond = true
	for _, e := range r.pending {
		sim.excuse(e.ID, "its runner was given up for dead and was not")
	}
}

// excusesTwo reports whether a second runner is allowed: a user asserted that the first one's pod has ended, and it has
// not.
func (sim *simulation) excusesTwo(r *runner) bool {
	return r.beyond || r.detached && (sim.skewed || r.by < sim.time || r.frozen)
}

// applies checks the start of an apply by an engine.
func (sim *simulation) applies(r *runner, p *plan) {
	if sim.applied[p.digest] {
		sim.violate("I3", "plan %s is applied a second time, by pod %s", short(p.digest), r.pod)
	}
	sim.applied[p.digest] = true
	now := sim.api.run(r.run)
	if now != nil && now.Spec.InputsDigest != p.inputs {
		sim.violate("I4", "pod %s applies a plan of other inputs", r.pod)
	}
	for _, m := range sim.machines {
		if o := m.runner; o != nil && o != r && o.alive() && o.stack == r.stack && o.applying && !sim.excusesTwo(o) {
			sim.violate("I1", "pods %s and %s apply at the same time", r.pod, o.pod)
		}
	}
}

// changes checks a change of the cloud by an engine.
func (sim *simulation) changes(r *runner) {
	st := sim.api.state(r.stack)
	if (st == nil || st.Status.Lock == nil || st.Status.Lock.PodUID != r.uid) && !sim.excusesTwo(r) {
		sim.violate("I1", "pod %s changes the cloud and does not hold the lock", r.pod)
	}
}

// stackGoes: a deleted Stack leaves no resources, or reported them.
func (sim *simulation) stackGoes(s *v1alpha1.Stack) {
	if !slices.Contains(s.Finalizers, v1alpha1.Finalizer) && !s.Status.Observed() {
		return
	}
	sim.orphans[s.UID] = s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
	for _, t := range sim.resources {
		if t.stack != s.Name || !t.alive || t.excused != "" {
			continue
		}
		switch {
		case s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
			t.excused = "left on purpose"
			continue
		case sim.orphanedRuns[s.UID] && sim.takesOver(s): // an event says that the State stays
			t.excused = "made by a Run that was orphaned before it applied"
			continue
		case sim.stateIsTheUsers(s):
			t.excused = "the Stack was restored, and did not apply the state since"
			continue
		case sim.unreported(t):
			t.excused = "its runner was abandoned and did not report it before its deadline"
			continue
		}
		sim.violate("I5", "Stack %s goes, and %s (%s) is left", s.Name, t.id, t.address)
	}
}

// takesOver reports whether a Stack never applied the State of its name.
func (sim *simulation) takesOver(s *v1alpha1.Stack) bool {
	st := sim.api.state(s.Name)
	return st != nil && st.Status.TakenOverBy(s.UID)
}

// unreported reports whether an abandoned runner created the resource and did not report it before its deadline: no
// state has it, or only one that was submitted after another attempt started.
func (sim *simulation) unreported(t *resource) bool {
	if st := sim.api.state(t.stack); st != nil && sim.contents[st.Status.SHA256].has(t.id) {
		return false
	}
	return slices.ContainsFunc(sim.machines, func(m *machine) bool {
		r := m.runner
		return r != nil && sim.excusesTwo(r) && slices.ContainsFunc(r.pending, func(e runnerapi.JournalEntry) bool {
			return e.ID == t.id
		})
	})
}
