package stackset

// What the operator does here. It must not have the verb update on Stacks: by that the admission policies distinguish
// it from users, and let it write the Stacks of StackSets alone.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacksets,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacksets/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks,verbs=get;list;create;patch;delete
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stackgrants,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch
