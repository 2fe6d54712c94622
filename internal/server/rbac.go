package server

// What the server does for runners: it looks past the cache before it refuses one, and writes the outputs of Stacks.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get
// +kubebuilder:rbac:roleName=server,groups="",resources=pods,verbs=get
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets;configmaps,verbs=get;create;update

// For forges it reads the Secret that webhooks are signed with, and asks for a fetch.
//
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=repositories,verbs=patch

// For people it asks what they may do in a namespace, and tells in events what they did to a State.
//
// +kubebuilder:rbac:roleName=server,groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs;states,verbs=get
// +kubebuilder:rbac:roleName=server,groups=events.k8s.io,resources=events,verbs=create;patch

// It shows people the events of an object that they may get, and looks at a Stack before it asks for a Run of it in their name.
// What they write is written with their own rights: with their token, or by impersonation, which the chart allows where an
// identity provider names people (templates/rbac.yaml).
//
// +kubebuilder:rbac:roleName=server,groups="",resources=events,verbs=list
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stacks,verbs=get

// Whose a token is, and who may speak for somebody else, no Role in a namespace can let it ask. An install in single
// namespaces does without, or is given this beside its Roles.
//
// +kubebuilder:rbac:roleName=server-cluster,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=server-cluster,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// The install's keys, which both halves have to know; the chart makes the Secret.
//
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups="",resources=secrets,resourceNames=cairn-keys,verbs=get;update
// +kubebuilder:rbac:roleName=server,namespace=cairn-system,groups="",resources=secrets,resourceNames=cairn-keys,verbs=get;update

// The policies that the install requires, found by their label.
//
// +kubebuilder:rbac:roleName=server,namespace=cairn-system,groups="",resources=configmaps,verbs=list

// What client certificates of people are checked with, and where people find the server; the chart makes that ConfigMap.
//
// +kubebuilder:rbac:roleName=server,namespace=kube-system,groups="",resources=configmaps,resourceNames=extension-apiserver-authentication,verbs=list;watch
// +kubebuilder:rbac:roleName=server,namespace=kube-public,groups="",resources=configmaps,resourceNames=cairn,verbs=get;update
