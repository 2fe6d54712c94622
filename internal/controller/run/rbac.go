package run

// What the operator does here: it creates and deletes the pods of Runs. A user who may create a pod in a namespace has
// what its service accounts have, and reads its Secrets; a role cannot limit which pods.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups="",resources=pods,verbs=get;create;delete
// +kubebuilder:rbac:roleName=operator,groups="",resources=serviceaccounts,verbs=get

// What the server does here: it writes what runners report.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs/status,verbs=patch
