package v1alpha1

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StackStatus reports the observed state of a Stack.
type StackStatus struct {
	// Conditions are the latest observations of the Stack. Ready is always set. Ready is True if the declared
	// inputs are applied, no drift is detected and nothing failed. Drifted, UntrackedResources,
	// WholeRepository and EnvironmentIgnored are set only while true. Stalled is set only while a user must act.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes. -1 until an operator
	// reconciles the Stack.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision is the revision of the source of inputsDigest: for git the ref and the commit, otherwise the
	// digest of the files. It changes only with commits that change this Stack; status.refs of the Repository
	// has the newest commit. Example: main@sha1:1f3c....
	// +optional
	Revision string `json:"revision,omitempty"`

	// InputsDigest is the digest of everything that decides the result of a Run: the declared code, values and
	// engine. The Stack is up to date when appliedInputsDigest is the same. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// Engine is the engine of the Stack, including what spec.engine of the Repository sets. Unset if the
	// Repository sets nothing. It does not contain versions that the code requires: status.plan of each Run
	// reports the version in use.
	// +optional
	Engine *Engine `json:"engine,omitempty"`

	// Source is the source of the code of the last apply, or the first one that was read. While the source is
	// another one, a Run is caused by the user who changed it. Unset if the code is not from git.
	// +optional
	Source *GitOrigin `json:"source,omitempty"`

	// VariableSets are the VariableSets that select the Stack, by name, with the names of the values that come from
	// each. Unset if there is none.
	// +listType=map
	// +listMapKey=name
	// +optional
	VariableSets []AppliedVariableSet `json:"variableSets,omitempty"`

	// StackPolicies are the StackPolicies that select the Stack, by name, with what comes from each. Unset if there is
	// none.
	// +listType=map
	// +listMapKey=name
	// +optional
	StackPolicies []AppliedStackPolicy `json:"stackPolicies,omitempty"`

	// Unapplied are the users who changed the inputs since they were applied. A Run has them in spec.causedBy.
	// +optional
	Unapplied *Unapplied `json:"unapplied,omitempty"`

	// AppliedInputsDigest is the digest of the inputs that were last applied or needed no change. Example:
	// sha256:1f3c....
	// +optional
	AppliedInputsDigest string `json:"appliedInputsDigest,omitempty"`

	// Image is the newest image that Cairn built for the Stack. Runs use it until its files change.
	// +optional
	Image *BuiltImage `json:"image,omitempty"`
	// AppliedImage is the image of the last apply. A destroy uses it.
	// +optional
	AppliedImage *BuiltImage `json:"appliedImage,omitempty"`

	// Hold is the pull request whose code the Stack has, since a user applied it before its merge. Unset if there is
	// none.
	// +optional
	Hold *StackHold `json:"hold,omitempty"`
	// EndedHold is a pull request that held the Stack and was not merged, until what it applied is replaced: each plan
	// waits for an approval meanwhile. Unset if there is none.
	// +optional
	EndedHold *EndedHold `json:"endedHold,omitempty"`

	// Release is the release of the stage of a Pipeline that selects the Stack. After the Pipeline is deleted, or does
	// not select the Stack any more, it stays until other inputs are applied: each plan waits for an approval
	// meanwhile. Unset if there is none.
	// +optional
	Release *StackRelease `json:"release,omitempty"`

	// CurrentRun is the name of the Run in progress. Unset if no Run is in progress. Example: net-7.
	// +optional
	CurrentRun string `json:"currentRun,omitempty"`

	// LastRun is the name of the newest Run, in progress or finished. Example: net-7.
	// +optional
	LastRun string `json:"lastRun,omitempty"`

	// ReservedRun is the newest name that Cairn reserved for a Run, and the purpose of that Run. Cairn writes
	// it before it creates the Run and keeps it after the Run is deleted. After a restart, Cairn therefore
	// knows whether it still has to create the Run.
	// +optional
	ReservedRun *ReservedRun `json:"reservedRun,omitempty"`

	// PlannedState is the version of the State that a user wrote, for example with cairn state push, and that
	// was then planned. Unset if a Run wrote the version that was last planned.
	// +optional
	PlannedState *PlannedState `json:"plannedState,omitempty"`

	// Resources is the number of resources in the state, or unknown if the engine encrypts the state.
	// +optional
	Resources ResourceCount `json:"resources,omitempty"`

	// LastHandledRequest is the last request for a Run (annotation cairn.dev/requested-at) that was accepted or
	// rejected.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`

	// DestroyedByRun is the name of the Run that destroyed all resources on request of a user. While it is
	// set, Cairn creates no resources until a user requests an apply. Example: net-8.
	// +optional
	DestroyedByRun string `json:"destroyedByRun,omitempty"`

	// Retry is what a user who retries the Stack requests, with cairn retry or in the web UI. It is set from the
	// start of an apply or destroy until one succeeds or is superseded, and while the Stack is being deleted.
	// Retries of attempts within a Run are in its own status (spec.retry).
	// +optional
	Retry *StackRetry `json:"retry,omitempty"`

	// Drift is the result of the last successful drift check. Unset before the first one.
	// +optional
	Drift *DriftStatus `json:"drift,omitempty"`

	// Units are the Terragrunt units that the code of this Stack depends on. The Stacks of these units are
	// dependencies, as in spec.dependsOn.
	// +listType=map
	// +listMapKey=path
	// +optional
	Units []Unit `json:"units,omitempty"`

	// DriftChecks reports the interval of drift checks, where it is configured and when the next check is due.
	// Unset if drift checks are disabled.
	// +optional
	DriftChecks *DriftChecks `json:"driftChecks,omitempty"`

	// Outputs are the outputs of the last apply, without sensitive and long ones. At most 64. Use spec.outputs
	// to receive all outputs.
	// +optional
	Outputs map[string]apiextensionsv1.JSON `json:"outputs,omitempty"`

	// History contains a summary of the successful Runs that are kept, oldest first. Cairn decides on later
	// Runs with it. The Runs themselves contain all details.
	// +listType=atomic
	// +optional
	History []PastRun `json:"history,omitempty"`
}

// Observed reports whether an operator wrote the status. Before, observedGeneration is -1, or 0 for an object that was
// stored before that default existed.
func (s *StackStatus) Observed() bool { return s.ObservedGeneration > 0 }

// Unit is a Terragrunt unit that the code of a Stack references in a dependency or dependencies block.
type Unit struct {
	// Path is the directory of the unit, relative to the root of the repository; "." is the root. Example:
	// live/prod/vpc.
	Path string `json:"path"`
	// Outputs is true if the Stack reads outputs of the unit: a change of them then starts a Run. It is false
	// for a dependencies block and for skip_outputs = true.
	// +optional
	Outputs bool `json:"outputs,omitempty"`
	// Stacks are the Stacks that run the unit: those of the same namespace, Repository and ref with the
	// directory of the unit. If empty, the unit does not affect the order of Runs. At most 100, sorted by
	// name. Example: [vpc].
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`
}

// Dependencies returns the names of the Stacks that have to be applied before this one, each once: those of its spec,
// in that order, and those that run the Terragrunt units that its code depends on. The name of a Stack in another
// namespace is namespace/name.
func (s *Stack) Dependencies() []string {
	var names []string
	for _, d := range s.Spec.DependsOn {
		names = append(names, s.NameOf(types.NamespacedName{Namespace: d.Namespace, Name: d.Name}))
	}
	for _, v := range s.Spec.Variables {
		if v.ValueFrom != nil && v.ValueFrom.Stack != nil {
			names = append(names, s.NameOf(v.ValueFrom.Stack.Key()))
		}
	}
	for _, u := range s.Status.Units {
		names = append(names, u.Stacks...)
	}
	listed := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		again := listed[name]
		listed[name] = true
		return again
	})
}

// NameOf returns the name of another Stack as Dependencies does: with its namespace if that is neither empty nor that
// of this Stack.
func (s *Stack) NameOf(other types.NamespacedName) string {
	if other.Namespace == "" || other.Namespace == s.Namespace {
		return other.Name
	}
	return other.String()
}

// KeyOf is the inverse of NameOf.
func (s *Stack) KeyOf(name string) types.NamespacedName {
	if namespace, name, elsewhere := strings.Cut(name, "/"); elsewhere {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: s.Namespace, Name: name}
}

// Destroyed reports that nothing is left of the Stack, because a user asked for that. A destroy that succeeded may
// leave resources: its script left them, or a user created them since.
func (s *Stack) Destroyed() bool {
	return s.Status.DestroyedByRun != "" && s.Status.CurrentRun == "" && s.Status.Resources <= 0
}

// ReservedRun is a name that Cairn reserved for a Run, and the purpose of the Run.
type ReservedRun struct {
	// Name is the name of the Run. Example: net-7.
	Name string `json:"name"`
	// Operation is the operation of the Run.
	Operation Operation `json:"operation"`
	// Cause is the type of the cause. Manual is a Run that a user requested.
	Cause CauseType `json:"cause"`
	// StateVersion is the version of the State that a user wrote, if the Run exists only to plan that version.
	// Example: 5.
	// +optional
	StateVersion int64 `json:"stateVersion,omitempty"`
}

// StackRetry is what a retry of a Stack requests.
type StackRetry struct {
	// Operation is the operation that the retry requests: Apply or Destroy. If spec.apply is Never, an apply only
	// plans.
	Operation Operation `json:"operation"`
	// Run is the name of the Run that is repeated: the newest one that was to change resources or to show what
	// would change, without drift checks, requested plans and shells. Unset if a Stack without such a Run is being
	// deleted. Example: net-7.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Run string `json:"run,omitempty"`
}

// PlannedState is a version of the State that a user wrote, and the Run that plans it.
type PlannedState struct {
	// Version is the version of the State. Example: 5.
	Version int64 `json:"version"`
	// Run is the name of the Run that plans the version. Example: net-7.
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run"`
}

// PastRun is the summary of a successful Run.
type PastRun struct {
	// Name is the name of the Run. Example: net-7.
	Name string `json:"name"`
	// UID is the UID of the Run. It distinguishes the Run from another one with the same name.
	UID types.UID `json:"uid"`
	// Operation is the operation of the Run.
	Operation Operation `json:"operation"`
	// Cause is the reason why the Run was created. For older Runs it has only the type.
	Cause Cause `json:"cause"`
	// FinishedAt is the time when the Run finished.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Applied reports whether the Run started an apply. It is false if the plan had no changes.
	// +optional
	Applied bool `json:"applied,omitempty"`
	// Details are additional fields that Cairn keeps while a decision needs them. Unset for most Runs, to
	// reduce the size of the Stack.
	// +optional
	Details *PastDetails `json:"details,omitempty"`
}

// PastDetails are fields of a successful Run that later decisions need.
type PastDetails struct {
	// InputsDigest is spec.inputsDigest of the Run. Unset for older Runs. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Revision is spec.revision of the Run. Unset for older Runs.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Plan is the plan of the Run without its resources. Unset for older Runs and for Runs without a plan.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// Steps are the steps whose message matters later, such as a failure to write outputs. Unset for older
	// Runs.
	// +listType=atomic
	// +optional
	Steps []Step `json:"steps,omitempty"`
}

// DriftStatus is the result of a drift check: the changes that a Run would apply to correct the drift. The counts do
// not include differences that spec.drift.ignore ignores; the Run would correct these too.
type DriftStatus struct {
	// Add is the number of resources to create. It includes replacements, as the engine counts them.
	Add int32 `json:"add"`
	// Change is the number of resources to update in place.
	Change int32 `json:"change"`
	// Destroy is the number of resources to destroy. It includes replacements.
	Destroy int32 `json:"destroy"`
	// Replace is the number of resources to replace. Each is also counted in add and destroy.
	Replace int32 `json:"replace"`
	// CheckedAt is the time of the last drift check.
	CheckedAt metav1.Time `json:"checkedAt"`
	// CheckedBy is the name of the Run that planned the applied inputs, since they were applied, without options and
	// without changing anything. Unset after an apply until then. Example: net-9.
	// +optional
	CheckedBy string `json:"checkedBy,omitempty"`
	// Since is the time when the drift was first detected. Unset if there is no drift, or if all of it is ignored.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Run is the name of the Run that found the differences. Unset if there are none. Example: net-9.
	// +optional
	Run string `json:"run,omitempty"`
	// Ignored is the number of differences that spec.drift.ignore ignores.
	// +optional
	Ignored int32 `json:"ignored,omitempty"`
	// Differences are all changes of the plan of the Run, those that are ignored among them. Unset if not all are
	// known; then none is ignored. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Differences []DriftDifference `json:"differences,omitempty"`
	// Starts are the last times at which drift was found where there was none before, newest first. At most 3, and none
	// that is more than 24 hours older than the newest.
	// +listType=atomic
	// +optional
	Starts []DriftStart `json:"starts,omitempty"`
}

// DriftDifference is a difference between what was applied and what exists.
type DriftDifference struct {
	Difference `json:",inline"`
	// Ignored is the reason of the entry of spec.drift.ignore that ignores the difference. Unset if it counts as drift.
	// +optional
	Ignored string `json:"ignored,omitempty"`
}

// DriftStart is the begin of a drift.
type DriftStart struct {
	// Time is when the drift was first detected.
	Time metav1.Time `json:"time"`
	// Run is the name of the Run that detected it. Example: net-9.
	// +optional
	Run string `json:"run,omitempty"`
	// CorrectedBy is the name of the Run that corrected it with an apply. Unset while the drift lasts, and if it went
	// without an apply. Example: net-10.
	// +optional
	CorrectedBy string `json:"correctedBy,omitempty"`
}

// DriftChecks reports how often Cairn checks a Stack for drift, and when the next check is due.
type DriftChecks struct {
	// Interval is the time between two drift checks. Example: 12h0m0s.
	Interval metav1.Duration `json:"interval"`
	// IntervalSource is where the interval is configured. Stack: spec.drift.interval of the Stack. Installation: the
	// chart value drift.interval.
	IntervalSource IntervalSource `json:"intervalSource"`
	// NextCheckTime is the time when the next check is due. The check can start later, because of a window or a
	// concurrency limit. Unset while no check can start: the Stack was never applied, is suspended, or has a
	// change to apply first.
	// +optional
	NextCheckTime *metav1.Time `json:"nextCheckTime,omitempty"`
}

// IntervalSource is where the interval of drift checks is configured.
//
// +kubebuilder:validation:Enum=Stack;Installation
type IntervalSource string

// Sources of the interval of drift checks.
const (
	// IntervalFromStack: the spec of the Stack.
	IntervalFromStack IntervalSource = "Stack"
	// IntervalFromInstallation: a flag of the operator.
	IntervalFromInstallation IntervalSource = "Installation"
)

// Finalizer is the finalizer of every Stack and State. It keeps a Stack until its resources are destroyed, and a
// State until Cairn deletes it.
const Finalizer = "cairn.dev/finalizer"
