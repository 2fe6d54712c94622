package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
)

// nothingIsLost: every resource in the cloud is in a state, in a rescued one, in the journal, or in the memory of an
// engine.
func (sim *simulation) nothingIsLost() {
	for _, name := range []string{"net", "app"} {
		var st *v1alpha1.State
		var inState, inRescued, inBackup *content
		var journal map[string]bool
		for _, t := range sim.resources {
			if t.stack != name || !t.alive || t.excused != "" {
				continue
			}
			if st == nil {
				if st = sim.api.state(name); st == nil {
					st = &v1alpha1.State{}
				}
				inState = sim.contents[st.Status.SHA256]
				if st.Status.Rescued != nil {
					inRescued = sim.contents[st.Status.Rescued.SHA256]
				}
				inBackup = sim.inBackup(name)
			}
			if inState.has(t.id) || inRescued.has(t.id) || inBackup.has(t.id) || sim.inMind(t) {
				continue
			}
			if journal == nil {
				journal = sim.journaled(name)
			}
			if !journal[t.id] {
				sim.violate("I2", "%s (%s of Stack %s) is in the cloud and nowhere else", t.id, t.address, name)
			}
		}
	}
}

func (sim *simulation) inMind(t *resource) bool {
	for _, m := range sim.machines {
		r := m.runner
		if r == nil || !r.alive() || r.stack != t.stack {
			continue
		}
		if r.mind.has(t.id) || slices.ContainsFunc(r.pending, func(e runnerapi.JournalEntry) bool {
			return e.ID == t.id
		}) {
			return true
		}
	}
	return false
}

// restful are the reasons of a Ready condition with which a Stack may remain until a user acts.
var restful = []string{
	"Applied", "AwaitingApproval", "RunFailed", "RunCanceled", "RunRejected", "Suspended", "Destroyed",
	"DeletionProtected", "ApplyNever", "ChangesPending", "SourceNotFound",
	"StateNotSaved", "DestroyIncomplete", "AppliedInputsUnknown", "DependencyNotReady", "DependencyNotFound",
	"DependentsExist", "Deleting", "StateCleanupFailed", "DestroyFailed", "UpstreamHeld",
}

// checkRest: nothing changes any more, and every Stack has a reason for that.
func (sim *simulation) checkRest() {
	for _, o := range sim.api.objects[stacks] {
		s := o.(*v1alpha1.Stack)
		ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			sim.violate("I6", "Stack %s says nothing", s.Name)
		case s.Status.ObservedGeneration != s.Generation:
			sim.violate("I6", "Stack %s speaks of generation %d, and is at %d", s.Name, s.Status.ObservedGeneration,
				s.Generation)
		case !slices.Contains(restful, ready.Reason):
			sim.violate("I6", "Stack %s stays %s: %s", s.Name, ready.Reason, ready.Message)
		case ready.Status == metav1.ConditionTrue:
			sim.isReady(s)
		}
	}
	for _, o := range sim.api.objects[runs] {
		r := o.(*v1alpha1.Run)
		if r.Status.Phase.Finished() || r.Status.Phase == v1alpha1.PhaseAwaitingApproval {
			continue
		}
		if s := sim.api.stack(r.Spec.Stack.Name); s != nil && s.Spec.Suspend {
			continue
		}
		sim.violate("I9", "Run %s stays %s", r.Name, r.Status.Phase)
	}
	sim.waitsForWhatIs()
	for _, m := range sim.machines {
		if m.runner != nil && m.runner.alive() {
			sim.violate("I9", "pod %s stays", m.pod)
		}
	}
	if sim.violation == nil {
		sim.checkNoFurtherWrites()
	}
}

// waitsForWhatIs: a plan that waits for its approval has the current inputs.
func (sim *simulation) waitsForWhatIs() {
	for _, o := range sim.api.objects[runs] {
		r := o.(*v1alpha1.Run)
		s := sim.api.stack(r.Spec.Stack.Name)
		if r.Status.Phase != v1alpha1.PhaseAwaitingApproval || r.Spec.Operation == v1alpha1.OperationDestroy ||
			s == nil || s.Spec.Suspend || s.DeletionTimestamp != nil {
			continue
		}
		if s.Status.InputsDigest != "" && s.Status.InputsDigest != r.Spec.InputsDigest {
			sim.violate("I4", "Run %s waits for its approval, and is not of what is declared", r.Name)
		}
	}
}

// isReady: a Ready Stack is as declared.
func (sim *simulation) isReady(s *v1alpha1.Stack) {
	if s.Status.InputsDigest != s.Status.AppliedInputsDigest {
		sim.violate("I6", "Stack %s is Ready and its inputs are not applied", s.Name)
		return
	}
	doc, err := sim.shared.inputs.Get(ctx, s.Status.AppliedInputsDigest)
	if err != nil {
		sim.violate("I6", "Stack %s: %v", s.Name, err)
		return
	}
	if s.Spec.Source.Git != nil && doc.Source != sim.declaredSource(s) {
		sim.violate("I6", "Stack %s is Ready at an old commit", s.Name)
	}
	for _, i := range wanted(sim.valueOf(doc)) {
		n := 0
		for _, t := range sim.resources {
			if t.stack == s.Name && t.alive && t.address == i.Address && t.excused == "" {
				n++
				if t.value != i.Value {
					sim.violate("I6", "Stack %s is Ready, and %s is %d and not %d", s.Name, t.address, t.value, i.Value)
				}
			}
		}
		excused := slices.ContainsFunc(sim.resources, func(t *resource) bool {
			return t.stack == s.Name && t.address == i.Address && t.excused != ""
		})
		if n != 1 && !excused {
			sim.violate("I6", "Stack %s is Ready, and there are %d of %s", s.Name, n, i.Address)
		}
	}
}

// checkNoFurtherWrites: a further reconciliation writes nothing. A time in the future, by a wrong clock, counts only
// once it may be correct: that is reported once.
func (sim *simulation) checkNoFurtherWrites() {
	if sim.hasTimesAhead() {
		sim.resync()
	}
	before := sim.stats.Writes
	sim.resync()
	if sim.stats.Writes != before {
		sim.violate("I6", "nothing changes any more, and another reconciliation writes: %s", sim.state())
	}
}

// resync makes leaders reconcile all objects.
func (sim *simulation) resync() {
	for _, m := range sim.managers {
		if m.leads {
			m.enqueueAll()
		}
	}
	sim.settleDown()
}

// hasTimesAhead reports whether an active Run has an attempt that ends in the future.
func (sim *simulation) hasTimesAhead() bool {
	return slices.ContainsFunc(sim.api.objects[runs], func(o client.Object) bool {
		r := o.(*v1alpha1.Run)
		return !r.Status.Phase.Finished() && slices.ContainsFunc(r.Status.Attempts, func(a v1alpha1.Attempt) bool {
			return a.FinishedAt != nil && a.FinishedAt.After(sim.now())
		})
	})
}

func describe(o client.Object) string {
	text := ""
	switch o := o.(type) {
	case *v1alpha1.Stack:
		text = fmt.Sprintf("Stack %s gen %d/%d run=%s last=%s", o.Name, o.Generation, o.Status.ObservedGeneration,
			o.Status.CurrentRun, o.Status.LastRun)
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
		text = fmt.Sprintf("State %s version %d serial %d resources %d", o.Name, o.Status.Version, o.Status.Serial,
			o.Status.Resources)
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
