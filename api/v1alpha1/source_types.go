package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Source says where the code comes from.
//
// +kubebuilder:validation:ExactlyOneOf=configMap;inline;git
type Source struct {
	// ConfigMap in the Stack's namespace; each key of its data and binaryData is a file of the root module.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`

	// Inline maps the path of a file, relative to the root module, to its text. Example: {"main.tf": "..."}.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=200
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// Git takes the code from a Repository.
	// +optional
	Git *GitSource `json:"git,omitempty"`
}

// GitSource is a folder of a Repository. What belongs to the Stack is the folder, the local modules it reaches, the files
// named by triggers and variableFiles: only a commit that changes those makes a new Run.
type GitSource struct {
	// Repository that has the code.
	Repository RepositoryRef `json:"repository"`

	// Path of the root module's folder from the repository's root. Default: the root. Example: envs/prod/network.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="a path goes down from the repository's root: no / at its beginning, no .. in it"
	// +optional
	Path string `json:"path,omitempty"`

	// Ref is a branch, a tag or a commit. Default: the Repository's spec.ref.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Triggers are globs over the paths of the repository; ** is any number of folders. Files that match belong to the
	// Stack and come with its code: they are in the pod, and a commit that changes one of them plans the Stack. The folder,
	// local modules and files whose path the code names belong without a trigger. Example: ["policies/**"].
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	// +optional
	Triggers []string `json:"triggers,omitempty"`
}

// RepositoryRef names a Repository.
type RepositoryRef struct {
	// Name of the Repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Namespace of the Repository, whose spec.allowedNamespaces has to name the Stack's. Default: the Stack's own.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// EngineOf gives what plans and applies the Stack's code: its own spec.engine with what its Repository says. The name is never empty.
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

// RepositoryKey names the Repository that the Stack's code is from; ok is false when it is from none.
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
