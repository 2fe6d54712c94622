package repository

// What the operator does here: it shows the credentials that a Repository names to the remote that it names.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=repositories/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pullrequests,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch
