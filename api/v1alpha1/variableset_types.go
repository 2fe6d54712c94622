package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// VariableSet has variables and environment variables for all Stacks of its namespace that have certain labels. What a
// Stack sets itself takes precedence. A change plans each selected Stack, and a deletion destroys nothing by itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Stacks",type=string,JSONPath=`.spec.stackSelector.matchLabels`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VariableSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the values and the Stacks that get them.
	Spec VariableSetSpec `json:"spec"`
}

// VariableSetList is a list of VariableSets.
//
// +kubebuilder:object:root=true
type VariableSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VariableSet `json:"items"`
}

// VariableSetSpec declares the values of a VariableSet and the Stacks that get them.
type VariableSetSpec struct {
	// StackSelector selects Stacks of the namespace by their labels. {} selects all of them. Users who push to the
	// repository of a StackSet choose the values of labels whose names begin with directory.cairn.dev/, and of no
	// others. Example: {matchLabels: {env: prod}}.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="operator must be In or NotIn with values, or Exists or DoesNotExist without values"
	StackSelector metav1.LabelSelector `json:"stackSelector"`

	// Variables are the values of input variables of the code, as in spec.variables of a Stack, which takes precedence.
	// They take precedence over spec.variableFiles. The code of each selected Stack must declare them. valueFrom.stack
	// is not supported. If two VariableSets have the same name for a Stack that does not set it, the Stack starts no
	// Run. At most 100. Example: [{name: region, value: eu-west-1}].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.valueFrom) || !has(v.valueFrom.stack))",message="valueFrom.stack is not supported in a VariableSet"
	// +listType=map
	// +listMapKey=name
	// +optional
	Variables []Variable `json:"variables,omitempty"`

	// Env are environment variables of the engine and its providers, as in spec.env of a Stack, which takes precedence.
	// They take precedence over spec.envFrom. At most 100. Example: [{name: AWS_REGION, value: eu-west-1}].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.startsWith('CAIRN_'))",message="names that start with CAIRN_ are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || (!has(e.valueFrom.resourceFieldRef) && !has(e.valueFrom.fileKeyRef)))",message="resourceFieldRef and fileKeyRef are not supported"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
}

// AppliedVariableSet is a VariableSet that selects a Stack, with the names that the Stack has from it.
type AppliedVariableSet struct {
	// Name is the name of the VariableSet. Example: prod.
	Name string `json:"name"`
	// UID is the UID of the VariableSet. It distinguishes the VariableSet from another one with the same name.
	UID types.UID `json:"uid,omitempty"`
	// Generation is the generation of the VariableSet. Example: 2.
	Generation int64 `json:"generation,omitempty"`
	// Variables are the names of the variables whose value comes from the VariableSet. Names that the Stack sets itself
	// are not listed. Example: [region].
	// +listType=atomic
	// +optional
	Variables []string `json:"variables,omitempty"`
	// Env are the names of the environment variables whose value comes from the VariableSet. Example: [AWS_REGION].
	// +listType=atomic
	// +optional
	Env []string `json:"env,omitempty"`
}
