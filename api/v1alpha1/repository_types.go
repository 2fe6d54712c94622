package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Repository is a git repository that Stacks read code from. Cairn keeps one mirror of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Fetched",type=date,JSONPath=`.status.lastFetch.at`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Repository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says where the repository is and who may use it.
	Spec RepositorySpec `json:"spec"`
	// Status says what was fetched. Before an operator has seen the Repository, observedGeneration is -1.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status RepositoryStatus `json:"status,omitempty"`
}

// RepositoryList is a list of Repositories.
//
// +kubebuilder:object:root=true
type RepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Repository `json:"items"`
}

// RepositorySpec says where a repository is and who may use it.
type RepositorySpec struct {
	// URL to fetch from: https://, http://, ssh://, or user@host:path for SSH. Credentials do not belong in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2000
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?|ssh)://[^/].*') || self.matches('^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:.+')",message="an https://, http:// or ssh:// URL, or user@host:path"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="credentials do not belong in the URL: put them into a Secret and name it in spec.credentials"
	URL string `json:"url"`

	// Ref is the branch, tag or commit for Stacks that name none. Default: the branch that the remote's HEAD names.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Interval between two looks at the remote, beside what webhooks tell; 0s relies on webhooks alone.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1s')",message="at least 1s, or 0s for none"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Timeout of one fetch.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="more than 0s and at most 24h"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Credentials for the remote, and for no other host. The Secret has username and password; or bearerToken; or identity
	// and known_hosts for SSH, and password if the identity has one; or githubAppID, githubAppInstallationID and
	// githubAppPrivateKey; and ca.crt where the remote's certificate is from an authority of one's own.
	// +optional
	Credentials *SecretSource `json:"credentials,omitempty"`

	// Webhook lets a forge tell of pushes, at /hooks/<namespace>/<name>. Each value in the Secret is a secret that the forge
	// may sign with, so that one can be replaced by another. Without it no webhook is taken.
	// +optional
	Webhook *SecretSource `json:"webhook,omitempty"`

	// AllowedNamespaces names other namespaces whose Stacks may use this Repository; "*" is all of them.
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:Pattern=`^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`

	// Submodules fetches the submodules that Stacks reach. The credentials are shown to those of the same host only.
	// +optional
	Submodules bool `json:"submodules,omitempty"`

	// LFS fetches the content of files that are kept in Git LFS.
	// +optional
	LFS bool `json:"lfs,omitempty"`

	// Engine is the default of spec.engine for its Stacks: of a Stack that leaves out the name, the version or the wrapped engine. A
	// version counts for Stacks of the same engine only, and counts more than what the code asks for. A change of it plans
	// those Stacks. Example: {name: Terraform, version: "~> 1.9"}.
	// +optional
	Engine *Engine `json:"engine,omitempty"`

	// Limits on what its Stacks do at the same time.
	// +optional
	Limits *RepositoryLimits `json:"limits,omitempty"`
}

// SecretSource names a Secret.
type SecretSource struct {
	// Secret in the same namespace.
	Secret ObjectRef `json:"secret"`
}

// RepositoryLimits bound what the Stacks of a Repository do at the same time.
type RepositoryLimits struct {
	// Runs that plan or apply at the same time; 0 for no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Runs int32 `json:"runs,omitempty"`
}

// RepositoryStatus says what was fetched.
type RepositoryStatus struct {
	// Conditions: Ready always; Stalled only while a person has to act.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Refs that Stacks use, and the default one, with the commits they name; at most 200.
	// +listType=map
	// +listMapKey=name
	// +optional
	Refs []RefStatus `json:"refs,omitempty"`

	// LastFetch is the last fetch that brought something new, or that ended in another way than the one before it. One that
	// finds all as it was is not written down.
	// +optional
	LastFetch *FetchStatus `json:"lastFetch,omitempty"`

	// LastHandledRequest is the last request for a fetch (annotation cairn.dev/requested-at) after which a fetch ended.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`
}

// RefStatus is what a ref names now.
type RefStatus struct {
	// Name as Stacks or the Repository spell it; HEAD for the remote's default branch.
	Name string `json:"name"`
	// Revision it names: the ref and the commit. Example: main@sha1:1f3c... Empty when there is no such ref.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// FetchStatus is how a fetch went.
type FetchStatus struct {
	// At is when it ended.
	At metav1.Time `json:"at"`
	// Took is how long it was.
	Took metav1.Duration `json:"took"`
}

// RequestedAtAnnotation asks for a fetch of a Repository, or a Run of a Stack, now. Any other value than the last one counts; people and
// webhooks write the time. Example: kubectl annotate --overwrite repository infra cairn.dev/requested-at="$(date +%s)".
const RequestedAtAnnotation = "cairn.dev/requested-at"

// HandledRequest is a request by the annotation cairn.dev/requested-at that was handled. Another value is a new request.
type HandledRequest struct {
	// Value of the annotation. Example: 2026-11-20T12:00:00Z
	Value string `json:"value"`
	// Time at which it was handled. Example: 2026-11-20T12:00:01Z
	Time metav1.Time `json:"time"`
	// Rejected says that the request was rejected, as when its time is in the future. It is not tried again; request again
	// with another value. A Repository rejects no request.
	// +optional
	Rejected bool `json:"rejected,omitempty"`
}
