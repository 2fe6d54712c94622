package server

// For runners it reads past the cache before it rejects one, and writes the outputs of Stacks.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=stackgrants,verbs=list
// +kubebuilder:rbac:roleName=server,groups="",resources=pods,verbs=get
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets;configmaps,verbs=get;create;update

// For Git providers it reads the Secret that webhooks are signed with, and requests a fetch.
//
// +kubebuilder:rbac:roleName=server,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=repositories,verbs=patch

// For users it checks what they are allowed in a namespace, and records in events what they did to a State.
//
// +kubebuilder:rbac:roleName=server,groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=runs;states,verbs=get
// +kubebuilder:rbac:roleName=server,groups=events.k8s.io,resources=events,verbs=create;patch

// It shows users the objects that they may get (lifecycle/kinds), with their events, as they are now, and reads a Stack
// before it requests a Run of it in their name. What they write is written with their own rights: with their token, or
// by impersonation, which the chart allows where an identity provider names users (templates/rbac.yaml).
//
// +kubebuilder:rbac:roleName=server,groups="",resources=events,verbs=list

// No Role in a namespace can allow reviews of tokens and of impersonation. An installation in single
// namespaces does without, or is given this beside its Roles.
//
// +kubebuilder:rbac:roleName=server-cluster,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=server-cluster,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// The installation's keys, which both parts need; the chart creates the Secret.
//
// +kubebuilder:rbac:roleName=operator,namespace=cairn-system,groups="",resources=secrets,resourceNames=cairn-keys,verbs=get;update
// +kubebuilder:rbac:roleName=server,namespace=cairn-system,groups="",resources=secrets,resourceNames=cairn-keys,verbs=get;update

// The policies that the installation requires, found by their label.
//
// +kubebuilder:rbac:roleName=server,namespace=cairn-system,groups="",resources=configmaps,verbs=list

// The CA of users' client certificates, and the ConfigMap with the server's address, which the chart creates.
//
// +kubebuilder:rbac:roleName=server,namespace=kube-system,groups="",resources=configmaps,resourceNames=extension-apiserver-authentication,verbs=list;watch
// +kubebuilder:rbac:roleName=server,namespace=kube-public,groups="",resources=configmaps,resourceNames=cairn,verbs=get;update
