package notification

// What the operator does here: it reads the Secrets of destinations one by one.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=notifications,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=notifications/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;driftpauses,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch
