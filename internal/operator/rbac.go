package operator

// What Cairn may do in a cluster is said by markers in rbac.go of each room, beside the code that does it, for each half
// apart: roleName is the half, and no namespace is each namespace that Cairn looks at. `make generate` writes the roles into
// charts/cairn/files/roles; test/permissions runs Cairn with them alone, and finds what is missing and what is not used.
//
// Both halves keep a cache, which lists and watches. Of Secrets and ConfigMaps it has metadata only (cacheOptions), but a
// role cannot say so.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks;runs;states;repositories,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets;configmaps;pods,verbs=list;watch
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacks;runs;repositories;states,verbs=list;watch

// Which of several operators is the active one. The Lease is in the chart, and made here where whoever applies the chart leaves
// Leases out, as Argo CD does. No role can allow the making of one object by name, so it is that of any Lease beside Cairn. It
// is told in an event by client-go, of the old kind.
//
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups=coordination.k8s.io,resources=leases,resourceNames=cairn-operator,verbs=get;update
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups="",resources=events,verbs=create
