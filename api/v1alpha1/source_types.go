package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Source specifies where the code comes from.
//
// +kubebuilder:validation:ExactlyOneOf=configMap;inline;git
type Source struct {
	// ConfigMap is a ConfigMap in the namespace of the Stack. Each key of data and binaryData is a file of the
	// root module. Example: {name: net-code}.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`

	// Inline contains the files of the root module: each key is a path relative to the root module, each value
	// the text of the file. At most 200 files. Example: {"main.tf": "..."}.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=200
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// Git is a directory of a Repository. Example: {repository: {name: infra}, path: envs/prod/network}.
	// +optional
	Git *GitSource `json:"git,omitempty"`
}

// GitSource references a directory of a Repository. The Stack consists of this directory, the local modules that
// it uses, and the files that triggers and variableFiles match. A commit starts a Run only if it changes one of
// these files.
type GitSource struct {
	// Repository is the Repository that contains the code.
	Repository RepositoryRef `json:"repository"`

	// Path is the directory of the root module, relative to the root of the repository. It must not start with
	// / or contain "..". Default: the root of the repository. Example: envs/prod/network.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="must be a path relative to the root of the repository, without a leading / and without .."
	// +optional
	Path string `json:"path,omitempty"`

	// Ref is a branch, a tag or a commit. Default: spec.ref of the Repository. Example: main.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Triggers are glob patterns of additional files of the repository that belong to the Stack; ** matches
	// any number of directories. The files are available in the pod, and a commit that changes one of them
	// starts a Run. The directory, local modules and files that the code references by path need no trigger.
	// At most 50. Default: empty. Example: ["policies/**"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`
}

// RepositoryRef references a Repository.
type RepositoryRef struct {
	// Name is the name of the Repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Namespace is the namespace of the Repository. Its spec.allowedNamespaces must include the namespace of
	// the Stack. Default: the namespace of the Stack.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// EngineOf returns the engine of a Stack: spec.engine with the defaults of its Repository. The name is never empty.
func (s *Stack) EngineOf() Engine {
	e := s.Spec.Engine
	if s.Status.Engine != nil {
		e = *s.Status.Engine
	}
	if e.Name == "" {
		e.Name = EngineOpenTofu
	}
	return e
}

// RepositoryKey returns the namespace and name of the Stack's Repository; ok is false if the code is not from git.
func (s *Stack) RepositoryKey() (key types.NamespacedName, ok bool) {
	source := s.Spec.Source.Git
	if source == nil {
		return key, false
	}
	key = types.NamespacedName{Namespace: source.Repository.Namespace, Name: source.Repository.Name}
	if key.Namespace == "" {
		key.Namespace = s.Namespace
	}
	return key, true
}

// GitOrigin is the source of code from git. Cairn compares it with that of the last apply to detect which user changed
// it.
type GitOrigin struct {
	// Repository is the namespace and name of the Repository. Example: shop/infra.
	// +kubebuilder:validation:MaxLength=317
	Repository string `json:"repository"`
	// Ref is spec.source.git.ref of the Stack. Unset if the Repository decides. Example: main.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`
	// URL is spec.url of the Repository, as the code was fetched. Example: https://git.example.com/acme/infra.git.
	// +kubebuilder:validation:MaxLength=2000
	URL string `json:"url"`
	// DefaultRef is spec.ref of the Repository. Unset if ref is set. Example: main.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	DefaultRef string `json:"defaultRef,omitempty"`
	// Submodules is spec.submodules of the Repository. Default: false.
	// +optional
	Submodules bool `json:"submodules,omitempty"`
	// LFS is spec.lfs of the Repository. Default: false.
	// +optional
	LFS bool `json:"lfs,omitempty"`
	// Engine is spec.engine of the Repository as text. Unset if the Repository sets nothing. Example: Terraform
	// ~> 1.9.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Engine string `json:"engine,omitempty"`
}
