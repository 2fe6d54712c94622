package pullrequest

// What the operator does here: it creates a PullRequest for each open pull request, and Runs that plan them; it
// cancels Runs, for which the admission policies require the verb, and asks what users of a Git provider may do.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pullrequests,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pullrequests/status;repositories/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=runs,verbs=get;list;create;patch;cancel;delete
// +kubebuilder:rbac:roleName=operator,groups=authorization.k8s.io,resources=localsubjectaccessreviews,verbs=create
// +kubebuilder:rbac:roleName=operator,groups="",resources=secrets,verbs=get
