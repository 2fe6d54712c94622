package state

// Secrets of the Stacks' namespaces are where states are. A role cannot tell them from others: it knows names, and these
// are as many as there are Stacks. With --state-storage=Bucket new states are in the bucket, and what is in Secrets stays there.

// What the operator does here: it ends States with their bytes, and looks whether who holds a lock is over. It puts one back from its backup
// when Kubernetes has forgotten it, and its Stack is deleted.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=states,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;runs,verbs=get
// +kubebuilder:rbac:roleName=operator,groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets,verbs=get;list;patch;delete

// What the server does here: it writes versions of states and removes old ones, for runners and for people. It never deletes
// a State.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=states,verbs=get;list;create;update
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacks,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get;list
// +kubebuilder:rbac:roleName=server,groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets,verbs=get;list;create;patch;delete
