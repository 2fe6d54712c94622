package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StackStatus is what is known of a Stack.
type StackStatus struct {
	// Conditions: Ready always; Drifted only while drift is known; Stalled only while a person has to act.
	// Ready=True says that the last applied inputs are the current ones, that no drift is known and that nothing failed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision names the source of these inputs: for git the ref and the commit, as in main@sha1:1f3c..., for a ConfigMap and
	// inline code the digest of its files. It stays with later commits that change nothing of this Stack; the newest commit that
	// Cairn has seen is in the Repository's status.
	// +optional
	Revision string `json:"revision,omitempty"`

	// InputsDigest is the digest of everything that decides the result of a Run: the code, the values and the engine, as the spec and its
	// sources declare them now. The Stack is up to date when appliedInputsDigest is the same. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// Engine is what plans and applies the code where the Repository's spec.engine decides a part of it; absent where only the
	// Stack's own does. Versions that the code asks for are not in it: they are in each Run's plan.
	// +optional
	Engine *Engine `json:"engine,omitempty"`

	// AppliedInputsDigest is the digest of the inputs that were last applied, or that needed no change. Example: sha256:1f3c....
	// +optional
	AppliedInputsDigest string `json:"appliedInputsDigest,omitempty"`

	// Image is the newest that was built for the Stack: a Run for which the same would be built takes it.
	// +optional
	Image *BuiltImage `json:"image,omitempty"`
	// AppliedImage is the one that was last applied with: a destroy takes it.
	// +optional
	AppliedImage *BuiltImage `json:"appliedImage,omitempty"`

	// CurrentRun is the name of the Run in progress; absent when there is none. Example: net-7.
	// +optional
	CurrentRun string `json:"currentRun,omitempty"`

	// LastRun is the newest Run, under way or finished.
	// +optional
	LastRun string `json:"lastRun,omitempty"`

	// ReservedRun is the last Run whose name was reserved, and what it is for. It is written before the Run is created and stays after the
	// Run is gone, so that it is known whether the Run still has to be created, and what it means when it does not exist.
	// +optional
	ReservedRun *ReservedRun `json:"reservedRun,omitempty"`

	// PlannedState is the version of the State that a user wrote (cairn state push, for example) and that was planned. Absent when a Run
	// wrote the version that was planned last.
	// +optional
	PlannedState *PlannedState `json:"plannedState,omitempty"`

	// Resources is how many resources the state holds.
	// +optional
	Resources int32 `json:"resources,omitempty"`

	// LastHandledRequest is the last request for a Run (annotation cairn.dev/requested-at) that was accepted or rejected.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`

	// DestroyedByRun is the name of the Run that destroyed everything on request. While it is set, nothing is created again until
	// a user requests an apply. Example: net-8.
	// +optional
	DestroyedByRun string `json:"destroyedByRun,omitempty"`

	// Drift is what the last drift check that went well found; absent before the first one.
	// +optional
	Drift *DriftStatus `json:"drift,omitempty"`

	// Units are the Terragrunt units that the code of this Stack depends on, as it was last read. The Stacks that run them
	// are dependencies of this one, as if they were in spec.dependsOn.
	// +listType=map
	// +listMapKey=path
	// +optional
	Units []Unit `json:"units,omitempty"`

	// DriftChecks says how often the Stack is checked for drift, which setting says so, and when the next check is due; absent when
	// checks are turned off.
	// +optional
	DriftChecks *DriftChecks `json:"driftChecks,omitempty"`

	// Outputs are the outputs of the last apply that are not sensitive. Long ones, and any past 64, are left out here;
	// spec.outputs gets them all.
	// +optional
	Outputs map[string]apiextensionsv1.JSON `json:"outputs,omitempty"`

	// History are the Runs that went well and that are kept, oldest first, with as much of each as later ones are decided on. A Run
	// comes to be here in the write that tells its end. The others, and all about these, are in the Runs themselves.
	// +listType=atomic
	// +optional
	History []PastRun `json:"history,omitempty"`
}

// Observed says that an operator has written the status. Until then observedGeneration is -1, or 0 for an object that an API server
// stored before that was the default.
func (s *StackStatus) Observed() bool { return s.ObservedGeneration > 0 }

// Unit is a Terragrunt unit that the code of a Stack names in a dependency or dependencies block.
type Unit struct {
	// Path of the unit's folder from the repository's root; "." is the root. Example: live/prod/vpc.
	Path string `json:"path"`
	// Outputs is true when the Stack reads the unit's outputs: when they change, the Stack runs again. It is false for a
	// dependencies block, and for a dependency block with skip_outputs = true.
	// +optional
	Outputs bool `json:"outputs,omitempty"`
	// Stacks that run the unit: those of the same namespace, Repository and ref whose folder it is. Without one the unit
	// gives no order. At most 100, the first by name. Example: [vpc].
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`
}

// ReservedRun is the name that a Run has or gets, and what the Run is for.
type ReservedRun struct {
	// Name of the Run.
	Name string `json:"name"`
	// Operation is what it may do.
	Operation Operation `json:"operation"`
	// Cause is what kind of thing it is made for: Manual for one that somebody asked for.
	Cause CauseType `json:"cause"`
	// StateVersion is the version of the State that a user wrote, for a Run that plans it for no other reason. Example: 5.
	// +optional
	StateVersion int64 `json:"stateVersion,omitempty"`
}

// PlannedState is a version of the State that a user wrote, and the Run that was created when it was current.
type PlannedState struct {
	// Version of the State. Example: 5.
	Version int64 `json:"version"`
	// Run that plans it. Example: net-7.
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run"`
}

// PastRun is a Run that went well, in short.
type PastRun struct {
	// Name of the Run.
	Name string `json:"name"`
	// UID of the Run: no other one of its name is meant.
	UID types.UID `json:"uid"`
	// Operation is what it could do.
	Operation Operation `json:"operation"`
	// Cause is why it was made. Of older Runs only its type is here.
	Cause Cause `json:"cause"`
	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Applied says that an apply of it began: where it found no changes, none did.
	// +optional
	Applied bool `json:"applied,omitempty"`
	// Details are there while something is decided on them. Of most Runs they are absent, and take no memory.
	// +optional
	Details *PastDetails `json:"details,omitempty"`
}

// PastDetails of a Run are what is decided on of it.
type PastDetails struct {
	// InputsDigest is spec.inputsDigest of the Run; absent for older Runs. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Revision names the source of these inputs; absent of older Runs.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Plan is what it would do, without its resources; absent of older Runs, and where there was none.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// Steps are those that tell more than that all went well: how outputs were written. Absent of older Runs.
	// +listType=atomic
	// +optional
	Steps []Step `json:"steps,omitempty"`
}

// DriftStatus is what a drift check found: what a Run would have to do to put back what was applied.
type DriftStatus struct {
	// Add is how many resources would be created; a replacement counts here and in Destroy, as engines count it.
	Add int32 `json:"add"`
	// Change is how many would be changed in place.
	Change int32 `json:"change"`
	// Destroy is how many would be destroyed; a replacement counts here and in Add.
	Destroy int32 `json:"destroy"`
	// Replace is how many of Add and of Destroy are a replacement: one resource that is destroyed and created.
	Replace int32 `json:"replace"`
	// CheckedAt is when it was looked at last.
	CheckedAt metav1.Time `json:"checkedAt"`
	// Since is when the drift was first seen; absent when there is none.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Run that found it.
	// +optional
	Run string `json:"run,omitempty"`
}

// DriftChecks says how often a Stack is checked for drift and when the next check is due.
type DriftChecks struct {
	// Interval is the time between two drift checks. Example: 12h0m0s.
	Interval metav1.Duration `json:"interval"`
	// SetBy says which setting Interval comes from. Stack: spec.drift.interval. Installation: the installation's default, which the chart
	// value drift.interval sets.
	SetBy SetBy `json:"setBy"`
	// Next is when the next check is due. It may start later, when it waits for a window or for the limit of concurrent Runs. Absent
	// while no check can start: the Stack was never applied, is suspended, or has a change to apply first.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
}

// SetBy says which object a setting comes from.
//
// +kubebuilder:validation:Enum=Stack;Installation
type SetBy string

// Objects that settings come from.
const (
	// SetByStack: the Stack's spec.
	SetByStack SetBy = "Stack"
	// SetByInstallation: a flag of the operator.
	SetByInstallation SetBy = "Installation"
)

// Finalizer is on every Stack, so that it is destroyed before it goes, and on every State, so that only Cairn ends it.
const Finalizer = "cairn.dev/finalizer"
