package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Backend is one of the engine's own backends, in place of Cairn's. The engine reads, writes and locks the state there; Cairn's
// State follows it, so that outputs, versions and what a person looks at are the same as ever.
//
// +kubebuilder:validation:XValidation:rule="has(self.type) || has(self.fromCode)",message="name a type, or set fromCode: true"
// +kubebuilder:validation:XValidation:rule="!has(self.fromCode) || self.fromCode",message="fromCode is true or absent"
// +kubebuilder:validation:XValidation:rule="!has(self.create) || has(self.type)",message="create needs a type"
type Backend struct {
	// Type of the backend, as in the code's own backend block. Example: s3.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['local', 'remote', 'cloud'])",message="local is gone with its pod, and remote and cloud run the engine elsewhere"
	// +optional
	Type string `json:"type,omitempty"`

	// Config are the backend's arguments, as in its block; any JSON value each. They are stored in the Stack in clear: use
	// configFrom for secrets. Example: {bucket: states, key: net.tfstate, region: eu-west-1}.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Config map[string]apiextensionsv1.JSON `json:"config,omitempty"`

	// ConfigFrom are Secrets of the Stack's namespace each of whose keys is an argument of the backend; they win over config, and a later
	// one over an earlier one. Credentials may as well be in env and envFrom, under the names that the engine knows.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	ConfigFrom []BackendConfig `json:"configFrom,omitempty"`

	// FromCode takes the backend block of the code as it is. With a type beside it, type and config are for code
	// without a block. They also complete a block of that type that leaves out an argument the backend needs, as an
	// empty one does; what the block has wins. A block of another type is taken alone. Type beside fromCode does not
	// work with Terragrunt. Default: false, the block of the code is replaced.
	// +optional
	FromCode bool `json:"fromCode,omitempty"`

	// Create makes what the backend keeps states in when it is not there, and never changes or deletes what is: for s3 the bucket, with
	// versions and encryption, and the lock's table. Only for s3.
	// +optional
	Create bool `json:"create,omitempty"`
}

// BackendConfig names a Secret with arguments of a backend.
type BackendConfig struct {
	// Secret in the Stack's namespace. Its values never appear in logs and status.
	Secret ObjectRef `json:"secret"`
}
