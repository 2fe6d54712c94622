// Package stack is the Stack's room: when a new Run is due, what its status says, and how it ends.
package stack

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/git"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
)

// World is all that Decide looks at.
type World struct {
	Now   time.Time
	Stack *v1alpha1.Stack
	// Inputs as the spec and its sources say now. The digest is empty when Problem says why there are none.
	Inputs   inputs.Document
	Digest   string
	Revision string
	// Commit of the code, when it is from git.
	Commit  git.Commit
	Problem *Problem
	// CodeRead says that the code was read, and Open names what in it is not known before the engine runs (closure.Closure): if there is
	// something, the whole repository belongs to the code.
	CodeRead bool
	// Engine is the Stack's with what its Repository says, and nil where the Repository says nothing of it. It is known once the code
	// was read.
	Engine *v1alpha1.Engine
	Open   []string
	// Units are the Terragrunt units that the code depends on, with the Stacks that run them; of code that was read.
	Units []v1alpha1.Unit
	// State of the Stack; nil when there is none.
	State *v1alpha1.State
	// Unsaved are the addresses of what applies made and no state has, as their journal says; of a deletion alone, and when the
	// state has no resource.
	Unsaved []string
	// Unreadable is why nobody can tell what there is, and what to do about it; empty when somebody can.
	Unreadable string
	// Runs of the Stack, oldest first. Those that went well are as the status has them, once it does: see history.go.
	Runs []v1alpha1.Run
	// Late is the name of a Run that was created after a later one was named and that is not finished; it is not in Runs, so nothing is
	// decided on it. Empty when there is none.
	Late string
	// Unheard says that the cache does not have the Run under way, and so may never tell its end.
	Unheard bool
	// Taken is the highest number of a Run that an earlier Stack of the same name left; 0 when there is none.
	Taken int
	// Reserved is the name of the Run that this process named in the status and did not create yet; empty when there is none.
	Reserved string
	// Left is what has to end before a Run is started or the Stack goes; gathered only then.
	Left Leftover
	// Last is the document of the newest Run's inputs, to tell what changed since; nil when there is none.
	Last *inputs.Document
	// Dependencies are the Stacks that go first, as they stand now.
	Dependencies []Dependency
	// Cycle is a way from this Stack over dependencies back to it, by name; empty when there is none.
	Cycle []string
	// Dependents are the Stacks that name this one as a dependency.
	Dependents []Dependent
	// Outputs says how the objects stand that spec.outputs names.
	Outputs OutputsState
	// NamespaceTerminating says that the API server makes nothing new in the Stack's namespace, since that is being deleted.
	NamespaceTerminating bool
	// AllowShell says that the install lets people have shells.
	AllowShell bool
	// AllowBuild says that the install builds images.
	AllowBuild bool
	// unpruned names the Runs past spec.runHistoryLimit that could not be deleted, so that they are not to be forgotten.
	unpruned []string
	// DriftInterval is the installation's default for spec.drift.interval; 0 for no checks.
	DriftInterval time.Duration
	// quiet asks what the Stack says apart from Runs that only look: none is to be started, nor what somebody asked for.
	quiet bool
	// looking is the number of a Run under way that only looks, when Runs is without it.
	looking int
}

// Problem says why the inputs cannot be had.
type Problem struct {
	Reason, Message string
	// Passing problems go away by themselves; what is known of the Stack stays known meanwhile.
	Passing bool
	// After is when to look again, where no event tells that it has passed: something failed, and a person should know.
	After time.Duration
}

// OutputsState says how the objects stand that spec.outputs names.
type OutputsState struct {
	// Foreign names one that Cairn did not make.
	Foreign string
	// Missing names one that is not there.
	Missing string
}

// addRuns adds Runs of the Stack, and of an earlier Stack of its name.
func (w *World) addRuns(runs []v1alpha1.Run) {
	for _, r := range runs {
		switch {
		case !metav1.IsControlledBy(&r, w.Stack):
			w.Taken = max(w.Taken, runinfo.Number(r.Name))
		case !r.Status.Phase.Finished() && runinfo.Number(r.Name) < runinfo.Number(w.Stack.Status.LastRun):
			w.Late = r.Name
		default:
			w.Runs = append(w.Runs, r)
		}
	}
	slices.SortFunc(w.Runs, func(a, b v1alpha1.Run) int { return runinfo.Number(a.Name) - runinfo.Number(b.Name) })
}

// last is the newest Run; nil when there is none.
func (w World) last() *v1alpha1.Run {
	if len(w.Runs) == 0 {
		return nil
	}
	return &w.Runs[len(w.Runs)-1]
}

// decisive is the newest Run that was made to change something, or to show what would change. Those that only look are not,
// nor is a destroy that came to nothing since it was not wanted any more. Nil when there is none.
func (w World) decisive() *v1alpha1.Run {
	return w.newest(func(r *v1alpha1.Run) bool {
		return !w.looks(r) && (r.Spec.Operation != v1alpha1.OperationDestroy || r.Status.Phase != v1alpha1.PhaseSuperseded)
	})
}

// tried is the newest Run of what was declared; nil when there is none.
func (w World) tried() *v1alpha1.Run {
	return w.newest(w.tries)
}

func (w World) tries(r *v1alpha1.Run) bool {
	return !w.looks(r) && r.Spec.Operation != v1alpha1.OperationDestroy
}

func (w World) newest(of func(*v1alpha1.Run) bool) *v1alpha1.Run {
	for i := range slices.Backward(w.Runs) {
		if of(&w.Runs[i]) {
			return &w.Runs[i]
		}
	}
	return nil
}

// forgotten says that a newer Run than the newest there is was deleted by hand: what came of it is in the status alone.
func (w World) forgotten() bool {
	return max(runinfo.Number(w.last().Name), w.looking) < runinfo.Number(w.Stack.Status.LastRun)
}

// forgottenTry says that the forgotten Run may have tried what is declared. One that was to look, or to destroy, tells nothing of that, whether it
// was deleted by hand or never made.
func (w World) forgottenTry() bool {
	n := w.Stack.Status.ReservedRun
	return w.forgotten() && (n == nil || n.Name != w.Stack.Status.LastRun || w.tries(&v1alpha1.Run{
		Spec: v1alpha1.RunSpec{Operation: n.Operation, Cause: v1alpha1.Cause{Type: n.Cause}},
	}))
}

// applyVanished says that the status names a Run that may apply or destroy, as one under way, and that a user deleted it,
// or that it is not known whether it was created: nobody knows what it changed.
func (w World) applyVanished() bool {
	n := w.Stack.Status.ReservedRun
	return n != nil && (n.Operation == v1alpha1.OperationApply || n.Operation == v1alpha1.OperationDestroy) &&
		n.Name == w.Stack.Status.CurrentRun && n.Name != w.Reserved && w.run(n.Name) == nil
}

// active is the newest Run that is not finished.
func (w World) active() *v1alpha1.Run {
	if r := w.last(); r != nil && !r.Status.Phase.Finished() {
		return r
	}
	return nil
}

// empty says that there is nothing to destroy: no state holds a resource, none was saved aside, and no apply ended in the
// middle, which its lock would tell, or its journal; nor is a user's engine at work with it. Of a state that the engine encrypts only the engine knows: a destroy says it.
func (w World) empty() bool {
	if w.State == nil {
		return true
	}
	s := w.State.Status
	held := s.Lock != nil && (s.Lock.Run != "" || s.Lock.By != "") // one without either is that of the end that has begun
	return !held && s.Rescued == nil && len(w.Unsaved) == 0 && (s.Resources == 0 || (s.Resources < 0 && w.destroyed()))
}

// destroyed says that the newest Run was a destroy and went well.
func (w World) destroyed() bool {
	last := w.last()
	return last != nil && last.Spec.Operation == v1alpha1.OperationDestroy && last.Status.Phase == v1alpha1.PhaseSucceeded
}
