package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Backend configures a backend of the engine, which stores the state instead of Cairn. The engine reads, writes
// and locks the state in this backend. Cairn copies each version to its State, so outputs, versions and the
// commands of cairn state still work.
//
// +kubebuilder:validation:XValidation:rule="has(self.type) || has(self.fromCode)",message="set type, or set fromCode: true"
// +kubebuilder:validation:XValidation:rule="!has(self.fromCode) || self.fromCode",message="fromCode must be true or unset"
// +kubebuilder:validation:XValidation:rule="!has(self.create) || has(self.type)",message="create requires type"
type Backend struct {
	// Type is the type of the backend, as in a backend block. The types local, remote and cloud are rejected.
	// Required unless fromCode is true. Example: s3.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['local', 'remote', 'cloud'])",message="local is not supported because its file is deleted with the pod; remote and cloud are not supported because they run the engine elsewhere"
	// +optional
	Type string `json:"type,omitempty"`

	// Config contains the arguments of the backend block, each of any JSON type. The Stack stores them in
	// plain text: use configFrom for secrets. At most 100. Example: {bucket: states, key: net.tfstate, region:
	// eu-west-1}.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Config map[string]apiextensionsv1.JSON `json:"config,omitempty"`

	// ConfigFrom lists Secrets in the namespace of the Stack. Each key of a Secret is an argument of the
	// backend. These arguments take precedence over config, and later Secrets over earlier ones. Credentials
	// can also be set with env and envFrom. At most 20. Example: [{secret: {name: net-backend}}].
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	ConfigFrom []BackendConfig `json:"configFrom,omitempty"`

	// FromCode uses the backend block of the code. If type is also set, type and config apply to code without
	// a block. They also complete a block of the same type that lacks required arguments; arguments in the
	// block take precedence. Cairn uses a block of another type unchanged. With Terragrunt, type and fromCode
	// cannot be combined. Default: false, which replaces the block of the code.
	// +optional
	FromCode bool `json:"fromCode,omitempty"`

	// Create creates the storage of the backend if it does not exist: the bucket, with versioning and
	// encryption, and the lock table. Cairn never changes or deletes existing storage. Supported for type s3
	// only. Default: false.
	// +optional
	Create bool `json:"create,omitempty"`
}

// BackendConfig references a Secret that contains arguments of a backend.
type BackendConfig struct {
	// Secret is a Secret in the namespace of the Stack. Its values never appear in logs or status.
	Secret ObjectRef `json:"secret"`
}

// Name returns what messages call the backend: its type, "of the code", or "" for a nil Backend, when Cairn stores the
// state.
func (b *Backend) Name() string {
	switch {
	case b == nil:
		return ""
	case b.FromCode:
		return "of the code"
	}
	return b.Type
}
