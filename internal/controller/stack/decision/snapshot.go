// Package decision decides the next step for a Stack, from a snapshot of facts: when a Run is due, what the status
// contains, and when a deleted Stack may go. It is pure: no client, no clock, no log.
package decision

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now   time.Time
	Stack *v1alpha1.Stack
	// Effective is the Stack with the values of the VariableSets that select it, which its status names; what inputs
	// are read from. It is never written.
	Effective *v1alpha1.Stack
	// OfSets has the objects that the inputs are read from, as kind/name: true if only VariableSets name it.
	OfSets map[string]bool
	// Inputs as the spec and its sources are now. The digest is empty when Problem has a reason why there are none.
	Inputs inputs.Document
	Digest string
	// Code is what is known of the code.
	Code
	// Commits has who wrote the commits; gathered only before a Run starts that spec.preventSelfApproval is for.
	Commits Commits
	Problem *Problem
	// MissingOutputs are the reason of Problem, and all of what is missing, if other Stacks may add them.
	MissingOutputs []MissingOutput
	// IgnoredEnv are the variables of spec.env that the engine does not get, each with the reason.
	IgnoredEnv []string
	// State of the Stack; nil when there is none.
	State *v1alpha1.State
	// Unsaved are the addresses of resources that applies created and no state has, by their journal. They are gathered
	// only for a deletion, and when the state has no resource.
	Unsaved []string
	// StateUnreadable is why it is not known which resources exist, and what to do about it; empty when it is known.
	StateUnreadable string
	// UnclaimedState is why a state exists that the State does not name; empty when there is none.
	UnclaimedState string
	// Runs of the Stack, oldest first. Those that went well are as the status has them, once it does: see history.go.
	Runs []v1alpha1.Run
	// LateRun is the name of a Run that was created after a later one was named and that is not finished; it is not in
	// Runs, so nothing is decided on it. Empty when there is none.
	LateRun string
	// CurrentRunUncached reports that the cache does not have the Run under way, and so may never have an event of its
	// end.
	CurrentRunUncached bool
	// HighestTaken is the highest number of a Run that an earlier Stack of the same name left; 0 when there is none.
	HighestTaken int
	// Reserved is the Run that this process named in the status and did not create yet.
	Reserved Reservation
	// Leftover is what has to end before a Run is started or the Stack goes; gathered only then.
	Leftover Leftover
	// LastInputs is the document of the newest Run's inputs, to detect what changed since; nil when there is none.
	LastInputs *inputs.Document
	// Dependencies are the Stacks that go first, as they stand now, up to the first that is waited for; gathered only
	// when a Run is due or asked for.
	Dependencies []Dependency
	// Claims decide which code the Stack has, by ChooseCommit.
	Claims
	// EndedHold is a pull request that held the Stack and was not merged; nil for none.
	EndedHold *v1alpha1.EndedHold
	// VerifiesDrift reports that the stage requires a drift check after each apply.
	VerifiesDrift bool
	// Requirements are what that pull request needs to be applied.
	Requirements []v1alpha1.Requirement
	// Cycle is a way from this Stack over dependencies back to it, by name; empty when there is none.
	Cycle []string
	// Dependents are the Stacks that name this one as a dependency.
	Dependents []Dependent
	// Outputs is the state of the objects that spec.outputs names.
	Outputs OutputsState
	// NamespaceTerminating reports that the API server creates no object in the Stack's namespace, since that is being
	// deleted.
	NamespaceTerminating bool
	// AllowShell reports that the installation allows users to open shells.
	AllowShell bool
	// AllowBuild reports that the installation builds images.
	AllowBuild bool
	// Unpruned names the Runs past spec.runHistoryLimit that could not be deleted, so that they are not to be
	// forgotten.
	Unpruned []string
	// DriftInterval is the installation's default for spec.drift.interval; 0 for no checks.
	DriftInterval time.Duration
	// DriftPause is why no drift is corrected in the namespace; gathered only before a Run starts that corrects drift.
	DriftPause Pause
	// Met are the needs of decisions that were met for this snapshot.
	Met []Need
}

// Reservation is a Run that was named in the status and not created yet.
type Reservation struct {
	// Run is its name; empty when there is none.
	Run string
	// Rejection is why the API server rejected it; empty when it did not.
	Rejection string
	// Before is the Run that was named before it, which must not be created any more; empty for the first.
	Before string
}

// Code is what a source knows of the code of a Stack.
type Code struct {
	Revision string
	// Commit of the code, when it is from git.
	Commit Commit
	// Source of the code, when it is from git and was read, and the user who last changed its Repository, in which
	// generation; empty when not known.
	Source               *v1alpha1.GitOrigin
	RepositoryChangedBy  string
	RepositoryGeneration int64
	// CodeRead reports that the code was read, and UnknownReads names what in it is not known before the engine runs
	// (closure.Closure): if there is any, the whole repository belongs to the code.
	CodeRead     bool
	UnknownReads []string
	// CodeInObject reports that the code is in an object besides the Stack, such as a ConfigMap: who changes the code
	// does not change the Stack.
	CodeInObject bool
	// Engine is the Stack's, with the settings of its Repository, and nil where the Repository has none. It is known
	// once the code was read.
	Engine *v1alpha1.Engine
	// Units are the Terragrunt units that the code depends on, with the Stacks that run them; of code that was read.
	Units []v1alpha1.Unit
}

// Commit is the commit that the code is from.
type Commit struct {
	ID, Author, Subject string
}

// Problem is why there are no inputs.
type Problem struct {
	Reason, Message string
	// Transient problems end by themselves; until then the status stays as it was.
	Transient bool
	// Missing reports that what the inputs need does not exist. The Stack is not Ready, and continues as soon as it
	// exists.
	Missing bool
	// After is when to check again, where no event comes when it has passed; 0 where one comes.
	After time.Duration
}

// MissingOutput is an output of another Stack that a variable uses and that the State of that Stack does not have.
type MissingOutput struct {
	Stack  types.NamespacedName
	Output string
}

// OutputsState is the state of the objects that spec.outputs names.
type OutputsState struct {
	// Foreign names one that Cairn did not create.
	Foreign string
	// Missing names one that does not exist.
	Missing string
}

// AddRuns adds Runs of the Stack, and of an earlier Stack of its name.
func (w *Snapshot) AddRuns(runs []v1alpha1.Run) {
	for _, r := range runs {
		switch {
		case !metav1.IsControlledBy(&r, w.Stack):
			w.HighestTaken = max(w.HighestTaken, runinfo.Number(r.Name))
		case !r.Status.Phase.Finished() && runinfo.Number(r.Name) < runinfo.Number(w.Stack.Status.LastRun):
			w.LateRun = r.Name
		default:
			w.Runs = append(w.Runs, r)
		}
	}
	slices.SortFunc(w.Runs, func(a, b v1alpha1.Run) int { return runinfo.Number(a.Name) - runinfo.Number(b.Name) })
}

// LatestRun is the newest Run; nil when there is none.
func (w Snapshot) LatestRun() *v1alpha1.Run {
	return w.newestRun(func(*v1alpha1.Run) bool { return true })
}

// latestBesideReadOnly is the newest Run, without a read-only one that is under way; nil when there is none.
func (w Snapshot) latestBesideReadOnly() *v1alpha1.Run {
	return w.newestRun(func(r *v1alpha1.Run) bool { return r.Status.Phase.Finished() || !w.isReadOnly(r) })
}

// LastMutatingRun is the newest Run that was created to change resources, or to show what would change; nil when there
// is none. A read-only Run does not count, nor does a destroy that ended without an effect since it was not wanted any
// more.
func (w Snapshot) LastMutatingRun() *v1alpha1.Run {
	return w.newestRun(w.isMutating)
}

func (w Snapshot) isMutating(r *v1alpha1.Run) bool {
	return !w.isReadOnly(r) && (r.Spec.Operation != v1alpha1.OperationDestroy ||
		r.Status.Phase != v1alpha1.PhaseSuperseded)
}

// lastDeployRun is the newest Run of what was declared; nil when there is none.
func (w Snapshot) lastDeployRun() *v1alpha1.Run {
	return w.newestRun(w.isDeploy)
}

func (w Snapshot) isDeploy(r *v1alpha1.Run) bool {
	return !w.isReadOnly(r) && r.Spec.Operation != v1alpha1.OperationDestroy
}

func (w Snapshot) newestRun(of func(*v1alpha1.Run) bool) *v1alpha1.Run {
	for i := range slices.Backward(w.Runs) {
		if of(&w.Runs[i]) {
			return &w.Runs[i]
		}
	}
	return nil
}

// latestRunMissing reports that a newer Run than the newest there is was deleted by hand: only the status has its
// results.
func (w Snapshot) latestRunMissing() bool {
	return highestNumber(w) < runinfo.Number(w.Stack.Status.LastRun)
}

// missingRunMayHaveDeployed reports that the missing Run may have tried the inputs. A read-only Run or a destroy never
// does, whether it was deleted by hand or never created.
func (w Snapshot) missingRunMayHaveDeployed() bool {
	n := w.Stack.Status.ReservedRun
	return w.latestRunMissing() && (n == nil || n.Name != w.Stack.Status.LastRun || w.isDeploy(&v1alpha1.Run{
		Spec: v1alpha1.RunSpec{Operation: n.Operation, Cause: v1alpha1.Cause{Type: n.Cause}},
	}))
}

// reservedApplyMissing reports that the status names a Run under way that may apply or destroy, and that a user deleted
// it, or that it is not known whether it was created: then it is not known what it changed.
func (w Snapshot) reservedApplyMissing() bool {
	n := w.Stack.Status.ReservedRun
	return n != nil && (n.Operation == v1alpha1.OperationApply || n.Operation == v1alpha1.OperationDestroy) &&
		n.Name == w.Stack.Status.CurrentRun && n.Name != w.Reserved.Run && w.RunNamed(n.Name) == nil
}

// ActiveRun is the newest Run that is not finished.
func (w Snapshot) ActiveRun() *v1alpha1.Run {
	if r := w.LatestRun(); r != nil && !r.Status.Phase.Finished() {
		return r
	}
	return nil
}

// changeUnderWay is the newest Run that is not finished, of those that are not read-only; nil when there is none.
func (w Snapshot) changeUnderWay() *v1alpha1.Run {
	if r := w.latestBesideReadOnly(); r != nil && !r.Status.Phase.Finished() {
		return r
	}
	return nil
}

// readOnlyUnderWay is the newest Run if it is read-only and not finished; nil otherwise.
func (w Snapshot) readOnlyUnderWay() *v1alpha1.Run {
	if r := w.ActiveRun(); r != nil && w.isReadOnly(r) {
		return r
	}
	return nil
}

// StateIsEmpty reports that there is nothing to destroy: no state holds a resource, no state is rescued, no lock or
// journal shows an apply that ended in the middle, and no user holds the lock. Only the engine can read a state that it
// encrypts: a destroy proves it empty.
func (w Snapshot) StateIsEmpty() bool {
	return len(w.Unsaved) == 0 && isEmpty(w.State, w.LastRunDestroyed())
}

// isEmpty reports that a State, nil if there is none, holds nothing, as far as it is known without a journal.
func isEmpty(state *v1alpha1.State, destroyed bool) bool {
	if state == nil {
		return true
	}
	s := state.Status
	// one without either is that of the end that has begun
	held := s.Lock != nil && (s.Lock.Run != "" || s.Lock.By != "")
	return !held && s.Rescued == nil && (s.Resources == 0 || (s.Resources < 0 && destroyed))
}

// LastRunDestroyed reports that the newest Run, beside a read-only one under way, was a destroy and succeeded.
func (w Snapshot) LastRunDestroyed() bool { return destroyedAll(w.latestBesideReadOnly()) }

// destroyedAll reports that a Run was a destroy and succeeded.
func destroyedAll(last *v1alpha1.Run) bool {
	return last != nil && last.Spec.Operation == v1alpha1.OperationDestroy &&
		last.Status.Phase == v1alpha1.PhaseSucceeded
}
