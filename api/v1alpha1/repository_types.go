package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Repository is a git repository from which Stacks read code. Cairn keeps one mirror of it for all of its Stacks.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Fetched",type=date,JSONPath=`.status.lastFetch.finishedAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Repository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares where the repository is and which namespaces can use it.
	Spec RepositorySpec `json:"spec"`
	// Status reports what Cairn fetched. observedGeneration is -1 until an operator reconciles the Repository.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
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

// RepositorySpec declares where a repository is and which namespaces can use it.
type RepositorySpec struct {
	// URL is the address to fetch from: https://, http://, ssh://, or user@host:path for SSH. It must not
	// contain credentials. Example: https://git.example.com/acme/infra.git.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2000
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?|ssh)://[^/].*') || self.matches('^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:.+')",message="an https://, http:// or ssh:// URL, or user@host:path"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="must not contain credentials: create a Secret with them and reference it in spec.credentials"
	URL string `json:"url"`

	// Ref is the branch, tag or commit for Stacks that do not specify a ref. Default: the default branch of
	// the remote (HEAD). Example: main.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Interval is the time between two fetches. Webhooks trigger additional fetches. At least 1s and at most
	// 8760h. 0s disables periodic fetches: then only webhooks and requests trigger them. Default: 5m.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1s')",message="at least 1s, or 0s for none"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Timeout is the maximum duration of one fetch, at most 24h. Default: 10m.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="more than 0s and at most 24h"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Credentials is a Secret with the credentials for the remote. Cairn sends them to no other host. The
	// Secret has the keys username and password; or bearerToken; or, for SSH, identity, known_hosts and
	// optionally password; or githubAppID, githubAppInstallationID and githubAppPrivateKey. The key ca.crt
	// adds a certificate authority (CA) for the remote. Cairn rejects other keys. If unset, Cairn fetches without
	// credentials. Example: {secret: {name: infra-git}}.
	// +optional
	Credentials *SecretSource `json:"credentials,omitempty"`

	// Webhook is a Secret with the signing secret of webhooks, and enables the webhook of the Git provider at
	// /hooks/<namespace>/<name>. If unset, Cairn rejects webhooks of this Repository. Example: {secret: {name:
	// infra-webhook}, keys: [token]}.
	// +optional
	Webhook *WebhookSource `json:"webhook,omitempty"`

	// AllowedNamespaces lists other namespaces whose Stacks can use this Repository. "*" allows all
	// namespaces. At most 200. Default: empty, only Stacks in the namespace of the Repository can use it.
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:Pattern=`^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`

	// Submodules fetches the git submodules that Stacks use. Cairn uses the credentials only for submodules on
	// the same host. Default: false.
	// +optional
	Submodules bool `json:"submodules,omitempty"`

	// LFS fetches the content of files that are stored in Git LFS. Default: false.
	// +optional
	LFS bool `json:"lfs,omitempty"`

	// Engine is the default of spec.engine for the Stacks of this Repository. It sets the fields that a Stack
	// leaves unset. A version applies only to Stacks with the same engine, and takes precedence over a version
	// that the code requires. A change starts a new plan of the Stacks that it affects. Example: {name:
	// Terraform, version: "~> 1.9"}.
	// +optional
	Engine *Engine `json:"engine,omitempty"`

	// Limits are the concurrency limits of the Stacks of this Repository. If unset, only the limits of the
	// installation apply.
	// +optional
	Limits *RepositoryLimits `json:"limits,omitempty"`

	// PullRequests plans the open pull requests: Cairn merges each into its base, plans the Stacks that it affects, and
	// writes a comment and commit statuses. Stacks have to read the base of the pull request. If unset, pull requests
	// are ignored.
	// +optional
	PullRequests *PullRequests `json:"pullRequests,omitempty"`
}

// SecretSource references a Secret.
type SecretSource struct {
	// Secret is a Secret in the same namespace.
	Secret ObjectRef `json:"secret"`
}

// WebhookSource references the signing secrets of webhooks.
type WebhookSource struct {
	// Secret is a Secret in the same namespace.
	Secret ObjectRef `json:"secret"`
	// Keys are the keys of the Secret whose values are signing secrets. Cairn accepts a request that is signed
	// with any of them, so secrets can be rotated. No other value of the Secret signs. At most 10. If unset,
	// the Secret must have one key. Example: [token].
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Keys []string `json:"keys,omitempty"`
}

// RepositoryLimits are the concurrency limits of the Stacks of a Repository.
type RepositoryLimits struct {
	// Runs is the maximum number of Runs that plan or apply at the same time. Default: 0, no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Runs int32 `json:"runs,omitempty"`
}

// RepositoryStatus reports what Cairn fetched.
type RepositoryStatus struct {
	// Conditions are the latest observations of the Repository. Ready is always set. Stalled is set only while
	// a user must act.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes. -1 until an operator
	// reconciles the Repository.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Refs are the default ref and the refs that Stacks use, each with its commit. At most 200.
	// +listType=map
	// +listMapKey=name
	// +optional
	Refs []RefStatus `json:"refs,omitempty"`

	// LastFetch is the last fetch that changed a ref, or whose result differs from that of the fetch before.
	// Cairn does not record other fetches.
	// +optional
	LastFetch *FetchStatus `json:"lastFetch,omitempty"`

	// LastHandledRequest is the last request for a fetch (annotation cairn.dev/requested-at) after which a fetch ended.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`
}

// RefStatus is the commit that a ref resolves to.
type RefStatus struct {
	// Name is the ref as the Repository or its Stacks specify it. HEAD is the default branch of the remote.
	Name string `json:"name"`
	// Revision is the ref and the commit that it resolves to. Unset if the ref does not exist. Example:
	// main@sha1:1f3c....
	// +optional
	Revision string `json:"revision,omitempty"`
}

// FetchStatus is the result of a fetch.
type FetchStatus struct {
	// FinishedAt is the time when the fetch ended.
	FinishedAt metav1.Time `json:"finishedAt"`
	// Duration is the duration of the fetch. Example: 1.2s.
	Duration metav1.Duration `json:"duration"`
}

// RequestedAtAnnotation requests an immediate fetch of a Repository or a Run of a Stack. Cairn handles the request
// when the value changes; users and webhooks write the current time. Example: kubectl annotate --overwrite
// repository infra cairn.dev/requested-at="$(date -u +%FT%TZ)".
const RequestedAtAnnotation = "cairn.dev/requested-at"

// HandledRequest is a request by the annotation cairn.dev/requested-at that was handled. Another value is a new
// request.
type HandledRequest struct {
	// Value of the annotation. Example: 2026-11-20T12:00:00Z
	Value string `json:"value"`
	// Time at which it was handled. Example: 2026-11-20T12:00:01Z
	Time metav1.Time `json:"time"`
	// Rejected is true if the request was rejected, for example because its time is in the future. Cairn does not retry
	// it; request again with another value. A Repository rejects no request.
	// +optional
	Rejected bool `json:"rejected,omitempty"`
}

// EngineFor returns the engine of a Stack that reads from the Repository: the spec.engine of the Stack, completed with
// that of the Repository. A version belongs to one engine, so a Stack inherits it only when it uses the same engine.
func (r *Repository) EngineFor(stack *Stack) Engine {
	own, given := stack.Spec.Engine, r.Spec.Engine
	if given == nil {
		given = &Engine{}
	}
	same := own.Name == "" || own.Name == cmp.Or(given.Name, EngineOpenTofu)
	own.Name = cmp.Or(own.Name, given.Name, EngineOpenTofu)
	if !same {
		return own
	}
	own.Version = cmp.Or(own.Version, given.Version)
	own.Wrapped = wrappedEngine(own.Wrapped, given.Wrapped)
	return own
}

// wrappedEngine completes the engine that Terragrunt runs.
func wrappedEngine(own, given *WrappedEngine) *WrappedEngine {
	switch {
	case own == nil:
		return given
	case given == nil:
		return own
	}
	both := *own
	if both.Name == "" || given.Name == "" || both.Name == given.Name {
		both.Version = cmp.Or(both.Version, given.Version)
	}
	both.Name = cmp.Or(both.Name, given.Name)
	return &both
}
