package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StackGrant allows Stacks of other namespaces to depend on Stacks of its own namespace and to use their outputs, or
// StackSets of other namespaces to create and change Stacks in it. It has no status. A deletion withdraws it: Runs in
// progress continue, and no new ones start; the Stacks of a StackSet stay as they are.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.spec.from[*].namespace`
// +kubebuilder:printcolumn:name="Stacks",type=string,JSONPath=`.spec.stacks`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StackGrant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares who can use which Stacks.
	Spec StackGrantSpec `json:"spec"`
}

// StackGrantList is a list of StackGrants.
//
// +kubebuilder:object:root=true
type StackGrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StackGrant `json:"items"`
}

// StackGrantSpec declares who can use which Stacks.
type StackGrantSpec struct {
	// From lists the kinds and namespaces of the objects that can use the Stacks. At most 50. Example: [{kind: Stack,
	// namespace: shop}].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=namespace
	From []StackGrantFrom `json:"from"`

	// Stacks are the names of the Stacks in the namespace of the StackGrant, which may not exist yet. At most 100.
	// Default: all Stacks of the namespace. Example: [net].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +listType=set
	// +optional
	Stacks []string `json:"stacks,omitempty"`
}

// StackGrantFrom is a kind of objects in a namespace.
type StackGrantFrom struct {
	// Kind is the kind of the objects. Stack: they can depend on the Stacks and use their outputs. StackSet: they can
	// create, change, suspend and delete the Stacks.
	Kind StackGrantKind `json:"kind"`
	// Namespace is the namespace of the objects. Example: shop.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
}

// StackGrantKind is a kind of objects that can use Stacks of another namespace.
//
// +kubebuilder:validation:Enum=Stack;StackSet
type StackGrantKind string

// Kinds of a StackGrant.
const (
	// GrantStack is a Stack that depends on another one.
	GrantStack StackGrantKind = "Stack"
	// GrantStackSet is a StackSet that generates Stacks.
	GrantStackSet StackGrantKind = "StackSet"
)

// Allow reports whether one of the StackGrants allows objects of a kind in a namespace to use a Stack. One that is
// being deleted allows nothing.
func (l *StackGrantList) Allow(kind StackGrantKind, from string, stack types.NamespacedName) bool {
	return slices.ContainsFunc(l.Items, func(g StackGrant) bool {
		return g.Namespace == stack.Namespace && g.DeletionTimestamp == nil &&
			slices.Contains(g.Spec.From, StackGrantFrom{Kind: kind, Namespace: from}) &&
			(len(g.Spec.Stacks) == 0 || slices.Contains(g.Spec.Stacks, stack.Name))
	})
}
