// Package stack is the Stack's room: when a new Run is due, what its status says, and how it ends.
package stack

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run"
)

// World is all that Decide looks at.
type World struct {
	Now   time.Time
	Stack *v1alpha1.Stack
	// Inputs as the spec and its sources say now. The digest is empty when Problem says why there are none.
	Inputs   inputs.Document
	Digest   string
	Revision string
	Problem  *Problem
	// State of the Stack; nil when there is none.
	State *v1alpha1.State
	// Runs of the Stack, oldest first.
	Runs []v1alpha1.Run
	// Taken is the highest number of a Run that an earlier Stack of the same name left; 0 when there is none.
	Taken int
	// Last is the document of the newest Run's inputs, to tell what changed since; nil when there is none.
	Last *inputs.Document
	// Outputs says how the objects stand that spec.outputs names.
	Outputs OutputsState
	// NamespaceEnds says that the API server makes nothing new in the Stack's namespace, since that is being deleted.
	NamespaceEnds bool
}

// Problem says why the inputs cannot be had.
type Problem struct {
	Reason, Message string
}

// OutputsState says how the objects stand that spec.outputs names.
type OutputsState struct {
	// Foreign names one that Cairn did not make.
	Foreign string
	// Missing names one that is not there.
	Missing string
}

// last is the newest Run; nil when there is none.
func (w World) last() *v1alpha1.Run {
	if len(w.Runs) == 0 {
		return nil
	}
	return &w.Runs[len(w.Runs)-1]
}

// forgotten says that a newer Run than the newest there is was deleted by hand: what came of it is in the status alone.
func (w World) forgotten() bool {
	return run.Number(w.last().Name) < run.Number(w.Stack.Status.LastRun)
}

// active is the newest Run that is not finished.
func (w World) active() *v1alpha1.Run {
	if r := w.last(); r != nil && !r.Status.Phase.Finished() {
		return r
	}
	return nil
}

// empty says that there is nothing to destroy: no state holds a resource, none was saved aside, and no apply ended in the
// middle, which its lock would tell. Of a state that the engine encrypts only the engine knows: a destroy says it.
func (w World) empty() bool {
	if w.State == nil {
		return true
	}
	s := w.State.Status
	held := s.Lock != nil && s.Lock.Run != "" // one without a Run is that of the end that has begun
	return !held && s.Rescued == nil && (s.Resources == 0 || (s.Resources < 0 && w.destroyed()))
}

// destroyed says that the newest Run was a destroy and went well.
func (w World) destroyed() bool {
	last := w.last()
	return last != nil && last.Spec.Operation == v1alpha1.OperationDestroy && last.Status.Phase == v1alpha1.PhaseSucceeded
}
