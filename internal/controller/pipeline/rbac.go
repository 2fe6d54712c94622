package pipeline

// What the operator does here: it reads the Repository and the Stacks of a Pipeline, and writes the status of the
// Pipeline. The controller of Stacks reads that. It writes approvals that it carries to the status of Runs.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pipelines,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pipelines/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;repositories;variablesets;stackpolicies,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch
