package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StackPolicy has windows and policies for all Stacks of its namespace that have certain labels. They are in addition
// to those of the Stacks themselves, so a StackPolicy can only restrict.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Stacks",type=string,JSONPath=`.spec.stackSelector.matchLabels`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StackPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the restrictions and the Stacks that they apply to.
	Spec StackPolicySpec `json:"spec"`
}

// StackPolicyList is a list of StackPolicies.
//
// +kubebuilder:object:root=true
type StackPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StackPolicy `json:"items"`
}

// StackPolicySpec declares the restrictions of a StackPolicy and the Stacks that they apply to.
type StackPolicySpec struct {
	// StackSelector selects Stacks of the namespace by their labels. {} selects all of them. Example: {matchLabels:
	// {env: prod}}.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="operator must be In or NotIn with values, or Exists or DoesNotExist without values"
	StackSelector metav1.LabelSelector `json:"stackSelector"`

	// Windows are time spans in which plans, applies and destroys can, or cannot, start, as in spec.windows of a Stack.
	// An operation starts only when the windows of the Stack, and those of each StackPolicy that selects it, allow it.
	// At most
	// 20. Example: [{kind: Deny, schedule: "0 0 20 12 *", duration: 336h}].
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Windows []Window `json:"windows,omitempty"`

	// Policies are evaluated for each plan with changes, in addition to those of spec.policies of the Stack. The
	// ConfigMaps are in the namespace of the StackPolicy. A change plans each selected Stack. At most 20. Example:
	// [{configMap: {name: rules}}].
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Policies []Policy `json:"policies,omitempty"`
}

// AppliedStackPolicy is a StackPolicy that selects a Stack, with the policies that the Stack has from it.
type AppliedStackPolicy struct {
	// Name is the name of the StackPolicy. Example: prod.
	Name string `json:"name"`
	// UID is the UID of the StackPolicy. It distinguishes the StackPolicy from another one with the same name.
	UID types.UID `json:"uid,omitempty"`
	// Generation is the generation of the StackPolicy. Example: 2.
	Generation int64 `json:"generation,omitempty"`
	// Policies are the names of the ConfigMaps with policies that only the StackPolicy adds. Example: [rules].
	// +listType=atomic
	// +optional
	Policies []string `json:"policies,omitempty"`
	// Windows is the number of windows of the StackPolicy. Example: 1.
	// +optional
	Windows int32 `json:"windows,omitempty"`
}
