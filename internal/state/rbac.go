package state

// States are in Secrets of the Stacks' namespaces. A role cannot select them: it lists names, and these differ for
// each Stack. With --state-storage=Bucket new states are in the bucket, and what is in Secrets stays there.

// The operator deletes States with their bytes, and checks whether the holder of a lock is over. It restores one from
// its backup when Kubernetes lost it, and its Stack is deleted.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=states,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;runs,verbs=get
// +kubebuilder:rbac:roleName=operator,groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets,verbs=get;list;patch;delete

// The server writes versions of states and removes old ones, for runners and for users. It never deletes a State.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=states,verbs=get;list;create;update
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacks,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get;list
// +kubebuilder:rbac:roleName=server,groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets,verbs=get;list;create;patch;delete
