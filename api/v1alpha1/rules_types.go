package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Drift configures how often Cairn checks a Stack for drift, and what happens when it detects drift.
type Drift struct {
	// Interval is the time between two drift checks, at least 10s and at most 8760h. 0s disables the drift
	// checks of this Stack. Cairn distributes the checks of all Stacks evenly over the interval. Default: the
	// interval of the installation (chart value drift.interval), which is 12h unless an administrator changes
	// it. Example: 1h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('10s')",message="at least 10s, or 0s for none"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// OnDrift is what happens when a check detects drift. Report sets the condition Drifted. Apply also starts
	// a Run that restores the declared configuration. That Run waits for an approval like any other
	// (spec.apply, spec.requireApprovalFor). Default: Report.
	// +kubebuilder:default=Report
	// +optional
	OnDrift DriftPolicy `json:"onDrift,omitempty"`

	// ApplyFor limits onDrift: Apply to drift that has no other kinds of change than these. Cairn reports other drift
	// and corrects nothing of it, also if only a part of it is of another kind, is ignored, or is not in
	// status.drift.differences. If the plan of the Run that corrects drift has another kind of change, it waits for an
	// approval. A replacement counts as Replace alone. A resource that the Run only removes from the state counts as
	// Delete. Changes of outputs and moves do not count. At most 5. Default: empty, all kinds. Example: [Update].
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:XValidation:rule="!('StackDeletion' in self)",message="must be Create, Update, Replace, Delete or Action"
	// +listType=set
	// +optional
	ApplyFor []ChangeKind `json:"applyFor,omitempty"`

	// Ignore lists differences that do not count as drift. A check that finds no others does not set the condition
	// Drifted. What is ignored is listed in status.drift.differences, and does not change plans: an apply corrects it
	// with all else. At most 50. Example: [{addresses: ["aws_autoscaling_group.*"], attributes: [desired_capacity],
	// reason: set by the autoscaler}].
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Ignore []IgnoredDrift `json:"ignore,omitempty"`
}

// IgnoredDrift are differences that do not count as drift.
type IgnoredDrift struct {
	// Addresses are the resources, or the outputs as in output.NAME, whose differences are ignored. A * stands for any
	// characters, also dots. From 1 to 20. Example: ["module.web[*].aws_instance.*"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	Addresses []string `json:"addresses"`
	// Attributes limit the entry to updates in place that change nothing but these attributes and what is in them, with
	// the paths that the plan shows. A * stands for any characters. If unset, all changes of the resources are ignored,
	// also that they are deleted. At most 50. Example: [desired_capacity, "tags[\"owner\"]"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Attributes []string `json:"attributes,omitempty"`
	// Reason is why the differences are ignored, for users. At most 300 characters. Example: set by the autoscaler.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Reason string `json:"reason"`
	// Until is the time from which the differences count again. If unset, the entry does not end. Example:
	// "2027-01-31T00:00:00Z".
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// DriftPolicy is what happens when a check detects drift.
//
// +kubebuilder:validation:Enum=Report;Apply
type DriftPolicy string

// Reactions to drift.
const (
	// DriftReport sets the condition Drifted.
	DriftReport DriftPolicy = "Report"
	// DriftApply starts a Run that restores the declared configuration.
	DriftApply DriftPolicy = "Apply"
)

// Window is a time span in which Runs can, or cannot, start.
type Window struct {
	// Kind is Allow or Deny. With Allow, the operations start only inside the window. With Deny, they do not
	// start inside it.
	Kind WindowKind `json:"kind"`
	// Schedule is the time when the window opens, in cron format: minute, hour, day of month, month, day of
	// week. Example: "0 18 * * 5", every Friday at 18:00.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Schedule string `json:"schedule"`
	// Duration is how long the window stays open, at most 8760h. Example: 4h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="more than 0s and at most 8760h"
	Duration metav1.Duration `json:"duration"`
	// TimeZone is the IANA time zone of the schedule. Default: UTC. Example: Europe/Berlin.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Operations are the operations that the window applies to. Plan is the start of any Run. Apply and
	// Destroy are the start of the apply after a plan. Default: [Apply, Destroy].
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!('Shell' in self)",message="must be Plan, Apply or Destroy"
	// +listType=set
	// +optional
	Operations []Operation `json:"operations,omitempty"`
}

// WindowKind is the effect of a window on the operations that it applies to.
//
// +kubebuilder:validation:Enum=Allow;Deny
type WindowKind string

// Kinds of windows.
const (
	// WindowAllow lets operations start only inside the window.
	WindowAllow WindowKind = "Allow"
	// WindowDeny lets no operation start inside the window.
	WindowDeny WindowKind = "Deny"
)

// Dependency references a Stack that Cairn applies first.
type Dependency struct {
	// Name is the name of the Stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Namespace is the namespace of the Stack. Another one than that of this Stack requires a StackGrant there.
	// Default: the namespace of this Stack. Example: network.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
