package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/store"
)

func noPolicies(context.Context, *v1alpha1.Run, string) (*store.Verdict, bool, error) {
	return nil, false, nil
}

// wrote checks each write where it counts: in the API server.
func (w *world) wrote(k kind, old, now client.Object) {
	if w.writer != nil {
		w.stats.Writes++
	}
	switch k {
	case stacks:
		if now == nil {
			w.stackGoes(old.(*v1alpha1.Stack))
		} else if s := now.(*v1alpha1.Stack); s.Spec.Apply == v1alpha1.ApplyAutomatic {
			w.automatic[s.Name] = true
		}
	case runs:
		if now == nil {
			return
		}
		if old == nil {
			w.stats.Runs++
			w.runMade(now.(*v1alpha1.Run))
			break
		}
		w.runWritten(old.(*v1alpha1.Run), now.(*v1alpha1.Run))
	case states:
		w.dirty = true
		if now != nil && old != nil {
			w.stateWritten(old.(*v1alpha1.State), now.(*v1alpha1.State))
		}
	case pods:
		if old == nil {
			pod := now.(*corev1.Pod)
			owner := metav1.GetControllerOf(pod)
			w.machines = append(w.machines, &machine{pod: pod.Name, run: owner.Name, stack: pod.Labels[run.LabelStack], uid: pod.UID})
		}
	}
	if w.Trace && now != nil {
		w.tracef("      = %s", describe(now))
	}
}

// runMade: of one Stack there is one Run that is not finished.
func (w *world) runMade(r *v1alpha1.Run) {
	for _, o := range w.api.objects[runs] {
		other := o.(*v1alpha1.Run)
		if other.Name != r.Name && sameOwner(other, r) && !other.Status.Phase.Finished() && begun(other) && run.Number(other.Name) > run.Number(r.Name) {
			w.violate("I1", "Run %s is made after Run %s", r.Name, other.Name)
		}
	}
}

func sameOwner(a, b *v1alpha1.Run) bool {
	x, y := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return x != nil && y != nil && x.UID == y.UID
}

func begun(r *v1alpha1.Run) bool { return len(r.Status.Attempts) > 0 }

// rank of a phase: a Run goes up, but for a new attempt.
var rank = map[v1alpha1.RunPhase]int{
	"": 0, v1alpha1.PhaseQueued: 1, v1alpha1.PhasePlanning: 2, v1alpha1.PhaseAwaitingApproval: 3, v1alpha1.PhaseApplying: 4,
}

func (w *world) runWritten(old, now *v1alpha1.Run) {
	if w.writer != nil {
		if w.writesOf[string(now.UID)]++; w.writesOf[string(now.UID)] > 30+12*lastNumber(now) {
			w.violate("I9", "Run %s was written %d times for %d attempts", now.Name, w.writesOf[string(now.UID)], lastNumber(now))
		}
	}
	before, after := lastNumber(old), lastNumber(now)
	switch {
	case old.Status.Phase.Finished() && now.Status.Phase != old.Status.Phase:
		w.violate("I10", "Run %s is %s after it was %s", now.Name, now.Status.Phase, old.Status.Phase)
	case after < before || after > before+1:
		w.violate("I10", "Run %s is at attempt %d after attempt %d", now.Name, after, before)
	case after == before && !now.Status.Phase.Finished() && rank[now.Status.Phase] < rank[old.Status.Phase]:
		w.violate("I10", "Run %s goes back from %s to %s", now.Name, old.Status.Phase, now.Status.Phase)
	}
	for _, a := range old.Status.Attempts {
		for _, b := range now.Status.Attempts {
			if a.Number == b.Number && (a.PodUID != b.PodUID || a.Phase != b.Phase || (a.FinishedAt != nil && b.FinishedAt == nil)) {
				w.violate("I10", "attempt %d of Run %s became another one", a.Number, now.Name)
			}
		}
	}
	if after == before {
		return
	}
	for _, o := range w.api.objects[runs] {
		other := o.(*v1alpha1.Run)
		if n := len(other.Status.Attempts); other.Name != now.Name && other.Spec.Stack.Name == now.Spec.Stack.Name && n > 0 && other.Status.Attempts[n-1].FinishedAt == nil && !other.Status.Phase.Finished() && sameOwner(other, now) {
			w.violate("I1", "Run %s begins attempt %d while Run %s is at attempt %d", now.Name, after, other.Name, lastNumber(other))
		}
	}
	if a := now.Status.Attempts[len(now.Status.Attempts)-1]; a.Phase == v1alpha1.AttemptApply {
		w.stats.Applies++
		w.applyBegins(now)
	}
}

func lastNumber(r *v1alpha1.Run) int {
	if n := len(r.Status.Attempts); n > 0 {
		return int(r.Status.Attempts[n-1].Number)
	}
	return 0
}

// applyBegins: what is applied is what was approved, or nobody has to approve.
func (w *world) applyBegins(r *v1alpha1.Run) {
	p := r.Status.Plan
	if p == nil {
		w.violate("I4", "Run %s applies without a plan", r.Name)
		return
	}
	if kept := w.plans[p.Digest]; kept == nil || kept.inputs != r.Spec.Inputs {
		w.violate("I4", "Run %s applies plan %s, which is not of its inputs", r.Name, short(p.Digest))
	}
	if n := r.Spec.Rejection; n != nil && n.PlanDigest == p.Digest {
		w.violate("I4", "Run %s applies plan %s, which was rejected", r.Name, short(p.Digest))
	}
	if w.automatic[r.Spec.Stack.Name] { // once is enough: how old what was decided on is allowed to be is not said
		return
	}
	if a := r.Spec.Approval; a == nil || a.PlanDigest != p.Digest {
		w.violate("I4", "Run %s applies plan %s, which nobody approved", r.Name, short(p.Digest))
	}
}

// stateWritten: each version is written by who holds the lock, and is the current attempt; serials grow.
func (w *world) stateWritten(old, now *v1alpha1.State) {
	a, b := old.Status, now.Status
	if l, m := a.Lock, b.Lock; l != nil && m != nil && l.ID != m.ID {
		if x := w.runnerOf(string(l.PodUID)); x != nil && x.alive() && !x.silentFor(w) && !w.excusesTwo(x) {
			w.violate("I1", "the lock of State %s goes from %s to %s, while pod %s is alive", now.Name, l.ID, m.ID, x.pod)
		}
	}
	if b.Version == a.Version {
		return
	}
	if b.Version != a.Version+1 || (b.Serial < a.Serial && a.Lineage == b.Lineage) {
		w.violate("I1", "State %s goes from version %d, serial %d to version %d, serial %d", now.Name, a.Version, a.Serial, b.Version, b.Serial)
	}
	if a.Lineage != "" && a.Lineage != b.Lineage {
		w.violate("I1", "State %s gets another lineage", now.Name)
	}
	v := b.Versions[len(b.Versions)-1]
	r := w.api.run(v.Run)
	if r == nil || w.rescuing(v) {
		return
	}
	if n := len(r.Status.Attempts); n > 0 && r.Status.Attempts[n-1].Number != v.Attempt && a.Lock != nil {
		w.violate("I1", "attempt %d of Run %s writes State %s, and the Run is at attempt %d", v.Attempt, v.Run, now.Name, lastNumber(r))
	}
}

// rescuing says that a version was rescued, which an attempt may do that is over.
func (w *world) rescuing(v v1alpha1.StateVersion) bool {
	_, err := w.bucket.Get(ctx, "rescue/"+namespace+"/"+strings.TrimSuffix(v.Run, v.Run[strings.LastIndexByte(v.Run, '-'):])+"/"+v.SHA256, 1)
	return err == nil
}

func (w *world) runnerOf(uid string) *runner {
	for _, m := range w.machines {
		if string(m.uid) == uid {
			return m.runner
		}
	}
	return nil
}

func (r *runner) silentFor(*world) bool { return false }

// beyond marks a runner that nothing can reach: its pod was taken away while it was frozen, which is to say that it is dead.
func (w *world) beyond(r *runner) {
	w.tracef("   pod %s is beyond reach", r.pod)
	for _, e := range r.pending {
		w.excuse(e.ID, "its runner was given up for dead and was not")
	}
}

// excusesTwo says that a runner cannot be kept from going on at the same time: its pod was said to be dead, and was not.
func (w *world) excusesTwo(r *runner) bool {
	return r.detached && (w.skewed || r.by < w.time || r.frozen)
}

// applies: an engine begins to apply a plan.
func (w *world) applies(r *runner, p *plan) {
	if w.applied[p.digest] {
		w.violate("I3", "plan %s is applied a second time, by pod %s", short(p.digest), r.pod)
	}
	w.applied[p.digest] = true
	now := w.api.run(r.run)
	if now != nil && now.Spec.Inputs != p.inputs {
		w.violate("I4", "pod %s applies a plan of other inputs", r.pod)
	}
	for _, m := range w.machines {
		if o := m.runner; o != nil && o != r && o.alive() && o.stack == r.stack && o.applying && !w.excusesTwo(o) {
			w.violate("I1", "pods %s and %s apply at the same time", r.pod, o.pod)
		}
	}
}

// changes: an engine changes the cloud.
func (w *world) changes(r *runner) {
	st := w.api.state(r.stack)
	if (st == nil || st.Status.Lock == nil || st.Status.Lock.PodUID != r.uid) && !w.excusesTwo(r) {
		w.violate("I1", "pod %s changes the cloud and does not hold the lock", r.pod)
	}
}

// stackGoes: nothing is left of it, or that was said.
func (w *world) stackGoes(s *v1alpha1.Stack) {
	if !slices.Contains(s.Finalizers, v1alpha1.Finalizer) && s.Status.ObservedGeneration == 0 {
		return
	}
	for _, t := range w.things {
		if t.stack != s.Name || !t.alive || t.excused != "" {
			continue
		}
		if s.Spec.Deletion == v1alpha1.DeletionOrphan {
			t.excused = "left on purpose"
			continue
		}
		w.violate("I5", "Stack %s goes, and %s (%s) is left", s.Name, t.id, t.address)
	}
}

// nothingIsLost: all that is in the cloud is in a state, in a rescued one, in the journal, or in the mind of an engine.
func (w *world) nothingIsLost() {
	for _, name := range []string{"net", "app"} {
		var st *v1alpha1.State
		var inState, inRescued *content
		var journal map[string]bool
		for _, t := range w.things {
			if t.stack != name || !t.alive || t.excused != "" {
				continue
			}
			if st == nil {
				if st = w.api.state(name); st == nil {
					st = &v1alpha1.State{}
				}
				inState = w.contents[st.Status.SHA256]
				if st.Status.Rescued != nil {
					inRescued = w.contents[st.Status.Rescued.SHA256]
				}
			}
			if inState.has(t.id) || inRescued.has(t.id) || w.inMind(t) {
				continue
			}
			if journal == nil {
				journal = w.journaled(name)
			}
			if !journal[t.id] {
				w.violate("I2", "%s (%s of Stack %s) is in the cloud and nowhere else", t.id, t.address, name)
			}
		}
	}
}

func (w *world) inMind(t *thing) bool {
	for _, m := range w.machines {
		r := m.runner
		if r == nil || !r.alive() || r.stack != t.stack {
			continue
		}
		if r.mind.has(t.id) || slices.ContainsFunc(r.pending, func(e store.JournalEntry) bool { return e.ID == t.id }) {
			return true
		}
	}
	return false
}

// restful are the reasons of a Ready condition with which a Stack may stay as it is until a person does something.
var restful = []string{
	"Applied", "AwaitingApproval", "RunFailed", "RunCanceled", "RunRejected", "Suspended", "Destroyed", "Protected", "ApplyNever", "ChangesPending", "SourceMissing",
	"StateStranded", "NotDestroyed", "InputsUnknown", "DependencyNotReady", "DependentsExist", "Deleting", "StateStays", "DestroyFailed",
}

// stands: all has come to rest, and says why.
func (w *world) stands() {
	for _, o := range w.api.objects[stacks] {
		s := o.(*v1alpha1.Stack)
		ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			w.violate("I6", "Stack %s says nothing", s.Name)
		case s.Status.ObservedGeneration != s.Generation:
			w.violate("I6", "Stack %s speaks of generation %d, and is at %d", s.Name, s.Status.ObservedGeneration, s.Generation)
		case !slices.Contains(restful, ready.Reason):
			w.violate("I6", "Stack %s stays %s: %s", s.Name, ready.Reason, ready.Message)
		case ready.Status == metav1.ConditionTrue:
			w.isReady(s)
		}
	}
	for _, o := range w.api.objects[runs] {
		r := o.(*v1alpha1.Run)
		if r.Status.Phase.Finished() || r.Status.Phase == v1alpha1.PhaseAwaitingApproval {
			continue
		}
		if s := w.api.stack(r.Spec.Stack.Name); s != nil && s.Spec.Suspend {
			continue
		}
		w.violate("I9", "Run %s stays %s", r.Name, r.Status.Phase)
	}
	for _, m := range w.machines {
		if m.runner != nil && m.runner.alive() {
			w.violate("I9", "pod %s stays", m.pod)
		}
	}
	if w.violation == nil {
		w.looksAgain()
	}
}

// isReady: what is declared is what there is.
func (w *world) isReady(s *v1alpha1.Stack) {
	if s.Status.Inputs != s.Status.AppliedInputs {
		w.violate("I6", "Stack %s is Ready and its inputs are not applied", s.Name)
		return
	}
	doc, err := w.shared.inputs.Get(ctx, s.Status.AppliedInputs)
	if err != nil {
		w.violate("I6", "Stack %s: %v", s.Name, err)
		return
	}
	for _, i := range wanted(valueOf(doc)) {
		n := 0
		for _, t := range w.things {
			if t.stack == s.Name && t.alive && t.address == i.Address && t.excused == "" {
				n++
				if t.value != i.Value {
					w.violate("I6", "Stack %s is Ready, and %s is %d and not %d", s.Name, t.address, t.value, i.Value)
				}
			}
		}
		excused := slices.ContainsFunc(w.things, func(t *thing) bool { return t.stack == s.Name && t.address == i.Address && t.excused != "" })
		if n != 1 && !excused {
			w.violate("I6", "Stack %s is Ready, and there are %d of %s", s.Name, n, i.Address)
		}
	}
}

// looksAgain: whoever looks again writes nothing.
func (w *world) looksAgain() {
	before := w.stats.Writes
	for _, m := range w.managers {
		if m.leads {
			m.lookAtAll()
		}
	}
	w.settleDown()
	if w.stats.Writes != before {
		w.violate("I6", "all stands still, and looking again writes: %s", w.state())
	}
}

func describe(o client.Object) string {
	text := ""
	switch o := o.(type) {
	case *v1alpha1.Stack:
		text = fmt.Sprintf("Stack %s gen %d/%d run=%s last=%s", o.Name, o.Generation, o.Status.ObservedGeneration, o.Status.Run, o.Status.LastRun)
		if c := apimeta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			text += fmt.Sprintf(" %s: %s", c.Reason, c.Message)
		}
	case *v1alpha1.Run:
		text = fmt.Sprintf("Run %s %s %s", o.Name, o.Spec.Operation, o.Status.Phase)
		for _, a := range o.Status.Attempts {
			text += fmt.Sprintf(" [%d %s %s", a.Number, a.Phase, a.Pod)
			if a.FinishedAt != nil {
				text += " over"
			}
			if a.Failure != nil {
				text += " " + string(a.Failure.Class)
			}
			text += "]"
		}
		if c := apimeta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
			text += fmt.Sprintf(" %s: %s", c.Reason, c.Message)
		}
	case *v1alpha1.State:
		text = fmt.Sprintf("State %s version %d serial %d resources %d", o.Name, o.Status.Version, o.Status.Serial, o.Status.Resources)
		if l := o.Status.Lock; l != nil {
			text += fmt.Sprintf(" locked %s by %s/%d", l.ID, l.Run, l.Attempt)
		}
		if o.Status.Rescued != nil {
			text += " rescued"
		}
	case *corev1.Pod:
		text = fmt.Sprintf("Pod %s %s", o.Name, o.Status.Phase)
	default:
		text = o.GetName()
	}
	if o.GetDeletionTimestamp() != nil {
		text += " (deleting)"
	}
	return text
}
