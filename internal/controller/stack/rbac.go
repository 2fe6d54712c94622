package stack

// What the operator does here. It needs no update of stacks: with update of stacks/finalizers the admission policies
// let it hold and release a Stack by a patch, and change nothing else of it.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;stacks/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks/finalizers,verbs=update
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs,verbs=get;create;delete
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=states,verbs=get
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch

// Before it corrects drift, it reads the DriftPause and the Stacks of the namespace past the cache.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=driftpauses,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks,verbs=list

// It lists the StackGrants that allow dependencies on Stacks of other namespaces.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stackgrants,verbs=list;watch

// Past the cache it reads the ConfigMaps that are code, scripts and policies, whether the objects with outputs are
// there, and whether the namespace is about to end.
//
// +kubebuilder:rbac:roleName=operator,groups="",resources=configmaps;secrets;namespaces,verbs=get
