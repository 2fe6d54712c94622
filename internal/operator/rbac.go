package operator

// Cairn's permissions in a cluster are markers in rbac.go of each package, beside the code that needs them, for
// each half apart: roleName is the half, and no namespace is each namespace that Cairn reads. `make generate`
// writes the roles into charts/cairn/files/roles; test/permissions runs Cairn with them alone, and finds what is
// missing and what is not used.
//
// Both halves keep a cache, which lists and watches, and the server a catalog; lifecycle/kinds has the markers of
// Cairn's objects. Of Secrets and ConfigMaps the cache has metadata only (cacheOptions), but a role cannot express
// that.
//
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets;configmaps;pods,verbs=list;watch

// The leader of several operators. The Lease is in the chart, and created here where the tool that applies the
// chart leaves Leases out, as Argo CD does. No role can allow the creation of one object by name, so it allows any
// Lease beside Cairn. client-go records an event about it, of the old kind.
//
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups=coordination.k8s.io,resources=leases,resourceNames=cairn-operator,verbs=get;update
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups="",resources=events,verbs=create
