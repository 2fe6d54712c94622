package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DriftPauseName is the name of the DriftPause of a namespace.
const DriftPauseName = "mass-drift"

// DriftPause pauses the corrections of drift (spec.drift.onDrift: Apply of Stacks) in its namespace. Cairn creates it,
// with the name mass-drift, when an unusual number of Stacks begins to drift within an hour, such as during an outage
// of a provider. Corrections continue once a user resumes them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'mass-drift'",message="the name must be mass-drift"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.drifted`
// +kubebuilder:printcolumn:name="Checked",type=integer,JSONPath=`.status.checked`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.since`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type DriftPause struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the decision of a user.
	// +kubebuilder:default={}
	Spec DriftPauseSpec `json:"spec,omitempty"`
	// Status reports whether corrections are paused. Without a status they are.
	// +structType=atomic
	// +optional
	Status DriftPauseStatus `json:"status,omitempty"`
}

// DriftPauseList is a list of DriftPauses.
//
// +kubebuilder:object:root=true
type DriftPauseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DriftPause `json:"items"`
}

// DriftPauseSpec has the decision of a user.
type DriftPauseSpec struct {
	// Resume ends the pause that began at a time. A later pause needs another decision. It requires the verb resume on
	// the DriftPause; `cairn drift resume` sets it.
	// +optional
	Resume *DriftResume `json:"resume,omitempty"`
}

// DriftResume is the decision of a user that corrections continue.
type DriftResume struct {
	// Since is status.since of the pause that it ends.
	Since metav1.Time `json:"since"`
	// By is the user who decided. The API server rejects any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
}

// DriftPauseStatus reports whether corrections are paused.
type DriftPauseStatus struct {
	// Conditions are the latest observations. Ready is False while corrections are paused.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Since is when the pause began. Unset while corrections are not paused.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Drifted is the number of Stacks that began to drift within an hour, when the pause began.
	// +optional
	Drifted int32 `json:"drifted,omitempty"`

	// Checked is the number of Stacks that were checked for drift within that hour, or later.
	// +optional
	Checked int32 `json:"checked,omitempty"`

	// Stacks are the names of the first of the Stacks that began to drift. At most 10.
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`

	// Resumed is when corrections were resumed the last time. What began to drift until then is not counted any more.
	// +optional
	Resumed *ResumedDrift `json:"resumed,omitempty"`
}

// ResumedDrift is the end of a pause.
type ResumedDrift struct {
	// Time is the end of the pause.
	Time metav1.Time `json:"time"`
	// By is the user who decided.
	By string `json:"by"`
}
