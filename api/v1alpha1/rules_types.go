package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Drift says how often a Stack is checked for drift and what happens when a check finds some.
type Drift struct {
	// Interval is the time between two drift checks, at least 10s and at most 8760h. 0s turns the checks of this Stack off. The
	// checks of all Stacks are spread evenly over it. Default: that of the installation (chart value drift.interval), which is 12h
	// unless an administrator changes it. Example: 1h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('10s')",message="at least 10s, or 0s for none"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// OnDrift says what follows drift. Report: a condition tells it. Apply: a Run puts back what was declared, after an
	// approval where its plan requires one, as with any other change (spec.apply, spec.requireApprovalFor).
	// +kubebuilder:default=Report
	// +optional
	OnDrift DriftPolicy `json:"onDrift,omitempty"`
}

// DriftPolicy says what follows drift.
//
// +kubebuilder:validation:Enum=Report;Apply
type DriftPolicy string

// What follows drift.
const (
	DriftReport DriftPolicy = "Report"
	DriftApply  DriftPolicy = "Apply"
)

// Window is a time at which something may begin, or may not.
type Window struct {
	// Kind: Allow or Deny.
	Kind WindowKind `json:"kind"`
	// Schedule is when the window opens, in the five fields of cron: minute, hour, day of month, month, day of week.
	// Example: "0 18 * * 5", each Friday at 18:00.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Schedule string `json:"schedule"`
	// Duration is how long it stays open.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="more than 0s and at most 8760h"
	Duration metav1.Duration `json:"duration"`
	// TimeZone of the schedule, as in the IANA time zone database. Default: UTC. Example: Europe/Berlin.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Operations that it is about: Plan is the beginning of any Run, Apply and Destroy what follows the plan. Default: Apply
	// and Destroy.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!('Shell' in self)",message="a window is about Plan, Apply and Destroy"
	// +listType=set
	// +optional
	Operations []Operation `json:"operations,omitempty"`
}

// WindowKind says whether a window is one for doing or for not doing something.
//
// +kubebuilder:validation:Enum=Allow;Deny
type WindowKind string

// What a window is for.
const (
	WindowAllow WindowKind = "Allow"
	WindowDeny  WindowKind = "Deny"
)

// Dependency is a Stack of the same namespace that goes first.
type Dependency struct {
	// Name of the Stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}
