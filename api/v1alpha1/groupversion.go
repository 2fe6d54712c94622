package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of all types in this package.
var GroupVersion = schema.GroupVersion{Group: "cairn.dev", Version: "v1alpha1"}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Stack{}, &StackList{},
		&Run{}, &RunList{},
		&State{}, &StateList{},
		&Repository{}, &RepositoryList{},
		&PullRequest{}, &PullRequestList{},
		&StackSet{}, &StackSetList{},
		&StackGrant{}, &StackGrantList{},
		&VariableSet{}, &VariableSetList{},
		&StackPolicy{}, &StackPolicyList{},
		&Notification{}, &NotificationList{},
		&DriftPause{}, &DriftPauseList{},
		&Pipeline{}, &PipelineList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// ManagedByLabel marks the objects that Cairn creates, with the value ManagedBy.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "cairn"
)
