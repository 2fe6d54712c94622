package v1alpha1

import (
	"cmp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StackSetLabel is on each Stack of a StackSet, with the name of the StackSet. StackSetNamespaceLabel has its
// namespace, if that is not the one of the Stack. A StackSet takes over a Stack that a user created once the user has
// added these labels.
const (
	StackSetLabel          = "cairn.dev/stackset"
	StackSetNamespaceLabel = "cairn.dev/stackset-namespace"
)

// Annotations of Stacks that a StackSet writes, and of StackSets that users write.
const (
	// RenderedAnnotation of a Stack is the digest of the rendered template that its StackSet applied last.
	RenderedAnnotation = "cairn.dev/stackset-rendered"
	// ItemGoneAnnotation of a Stack has the reason why its StackSet, which suspended it, does not generate it any more.
	ItemGoneAnnotation = "cairn.dev/stackset-item-gone"
	// ConfirmDeletionsAnnotation of a StackSet is the digest of the Stacks that it may delete
	// (status.deletions.digest). It requires the verb destroy for stacks.
	ConfirmDeletionsAnnotation = "cairn.dev/confirm-deletions"
)

// StackSetMode is what a StackSet does with the Stacks that it generates.
// +kubebuilder:validation:Enum=Create;Preview
type StackSetMode string

// Modes of a StackSet.
const (
	// StackSetCreate creates and changes Stacks, and suspends or deletes those that are not generated any more.
	StackSetCreate StackSetMode = "Create"
	// StackSetPreview writes nothing but the status, which lists what Create would do.
	StackSetPreview StackSetMode = "Preview"
)

// StackSetPrune is what happens with a Stack that is not generated any more.
// +kubebuilder:validation:Enum=Keep;Delete
type StackSetPrune string

// What happens with a Stack that is not generated any more.
const (
	// PruneKeep suspends the Stack.
	PruneKeep StackSetPrune = "Keep"
	// PruneDelete suspends the Stack, and deletes it once a user has confirmed the list of all Stacks to delete.
	PruneDelete StackSetPrune = "Delete"
)

// StackSet generates Stacks: one for each directory of a repository, or for each entry of a list, from one template.
// Deleting a StackSet deletes no Stack.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn,shortName=ss
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Stacks",type=integer,JSONPath=`.status.generated`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.applied`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Gone",type=integer,JSONPath=`.status.gone`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type StackSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares which Stacks to generate.
	Spec StackSetSpec `json:"spec"`
	// Status reports what was generated. observedGeneration is -1 until an operator reconciles the StackSet.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status StackSetStatus `json:"status,omitempty"`
}

// StackSetList is a list of StackSets.
//
// +kubebuilder:object:root=true
type StackSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StackSet `json:"items"`
}

// StackSetSpec declares which Stacks to generate.
//
// +kubebuilder:validation:XValidation:rule="has(self.repository) || !self.generators.exists(g, has(g.directories) || has(g.terragrunt) || (has(g.matrix) && g.matrix.exists(m, has(m.directories))))",message="directories need spec.repository"
type StackSetSpec struct {
	// Mode is Create or Preview. Preview writes nothing but the status, which lists what Create would do. Default:
	// Create.
	// +kubebuilder:default=Create
	// +optional
	Mode StackSetMode `json:"mode,omitempty"`

	// Repository is the Repository whose directories are listed. Its spec.allowedNamespaces must include the namespace
	// of the StackSet. Required for directories.
	// +optional
	Repository *RepositoryRef `json:"repository,omitempty"`

	// Ref is the branch, tag or commit whose directories are listed. Default: spec.ref of the Repository.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Generators list items. Each item becomes a Stack.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Generators []StackSetGenerator `json:"generators"`

	// Template is what each Stack is created from. Its strings can contain CEL expressions in ${...} with the variables
	// params (the params of the item) and directory (the path of its directory). A string that is one expression gets
	// the type of its value. $${ stands for the text ${.
	Template StackSetTemplate `json:"template"`

	// Namespaces are the other namespaces in which template.metadata.namespace can place Stacks. Each needs a
	// StackGrant for StackSets of this namespace. The user who writes this StackSet needs the same verbs in each as in
	// its own namespace. Stacks in a namespace that is removed from the list, or whose StackGrant is deleted, stay as
	// they are and are not written any more. At most 10. Example: [shop-dev, shop-prod].
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// Prune is what happens with a Stack that is not generated any more. Keep suspends it. Delete suspends it too, and
	// deletes it once a user with the verb destroy has confirmed the exact list (cairn confirm-deletions); each
	// deletion is then subject to the deletionPolicy of the Stack, and a plan that destroys its resources waits for an
	// approval. Default: Keep.
	// +kubebuilder:default=Keep
	// +optional
	Prune StackSetPrune `json:"prune,omitempty"`

	// MaxDeletions is how many Stacks of this StackSet may disappear at once: a number, or a percentage of its Stacks.
	// If more do, it suspends and deletes none, and reports it. A percentage above 0% permits at least one. Default:
	// 10%.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="a number of at least 0, or a percentage from 0% to 100%"
	// +optional
	MaxDeletions *intstr.IntOrString `json:"maxDeletions,omitempty"`

	// MaxStacks is how many Stacks are generated at most. If there are more items, nothing is written. Default: 1000.
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20000
	// +optional
	MaxStacks *int32 `json:"maxStacks,omitempty"`

	// Rollout limits how many Stacks get a changed template at once.
	// +optional
	Rollout *StackSetRollout `json:"rollout,omitempty"`

	// Ignore are the fields of existing Stacks that users may change. The StackSet sets them when it creates a Stack,
	// and not afterwards. It restores all other fields of the template. Each is a path of field names.
	// Example: [spec.suspend].
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^spec(\.[a-zA-Z][a-zA-Z0-9]*)+$`
	// +listType=set
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// Moved keeps a Stack when the name that the template has for its item changes: the Stack continues under its old
	// name, with its State. If both Stacks exist, nothing is written until a user deletes one of them or the entry.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=map
	// +listMapKey=to
	// +optional
	Moved []StackSetMove `json:"moved,omitempty"`
}

// RepositoryKey returns the namespace and name of the Repository whose directories are listed; ok is false for none.
func (s *StackSet) RepositoryKey() (key types.NamespacedName, ok bool) {
	if s.Spec.Repository == nil {
		return key, false
	}
	ref := s.Spec.Repository
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, s.Namespace), Name: ref.Name}, true
}

// Owns reports whether a Stack is of the StackSet.
func (s *StackSet) Owns(stack *Stack) bool {
	key, ok := stack.StackSetKey()
	return ok && key == types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// StackSetKey returns the namespace and name of the StackSet that a Stack is of; ok is false for none.
func (s *Stack) StackSetKey() (key types.NamespacedName, ok bool) {
	name := s.Labels[StackSetLabel]
	return types.NamespacedName{Namespace: cmp.Or(s.Labels[StackSetNamespaceLabel], s.Namespace), Name: name},
		name != ""
}

// StackSet returns the StackSet that a Stack is of: its name or, in another namespace, NAMESPACE/NAME. Empty for none.
func (s *Stack) StackSet() string {
	key, _ := s.StackSetKey()
	if key.Name == "" || key.Namespace == s.Namespace {
		return key.Name
	}
	return key.String()
}

// StackSetGenerator lists items.
//
// +kubebuilder:validation:XValidation:rule="[has(self.directories), has(self.list), has(self.matrix), has(self.terragrunt)].filter(x, x).size() == 1",message="set one of directories, list, matrix and terragrunt"
type StackSetGenerator struct {
	StackSetItems `json:",inline"`

	// Matrix combines each item of each entry with each item of the others.
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:XValidation:rule="has(self.directories) != has(self.list)",message="set one of directories and list"
	// +listType=atomic
	// +optional
	Matrix []StackSetItems `json:"matrix,omitempty"`

	// Terragrunt are the directories of the Repository with a Terragrunt unit. The Stack of a unit gets those of the
	// units that its dependency and dependencies blocks name in spec.dependsOn.
	// +optional
	Terragrunt *StackSetTerragrunt `json:"terragrunt,omitempty"`
}

// StackSetItems are directories of the Repository, or the entries of a list.
type StackSetItems struct {
	// Directories are the directories of the Repository that contain a root module.
	// +optional
	Directories *StackSetDirectories `json:"directories,omitempty"`

	// List contains the params of each item. Example: [{env: dev, replicas: 1}, {env: prod, replicas: 3}].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Type=object
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +listType=atomic
	// +optional
	List []apiextensionsv1.JSON `json:"list,omitempty"`
}

// StackSetDirectories selects directories of the Repository.
type StackSetDirectories struct {
	// Include are patterns for the paths of directories. * and ? match within one name, ** matches any number of
	// directories, and {name} matches one name or the rest of it, and sets params.name. The first pattern that
	// matches a directory applies. Example: ["envs/{env}/{team}/{name}"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	Include []string `json:"include"`

	// Exclude are globs for paths of directories that are not items, whatever include matches.
	// Example: ["envs/*/sandbox/**"].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	// +optional
	Exclude []string `json:"exclude,omitempty"`

	// Marker is a glob for the name of a file that a directory must contain. Example: backend.tf. Default: a file of
	// OpenTofu, Terraform or Terragrunt (*.tf, *.tofu, *.tf.json, *.tofu.json, terragrunt.hcl).
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Marker string `json:"marker,omitempty"`

	// SettingsFile is the name of a file in a directory with settings of its Stack: variables, variable files,
	// dependencies and triggers, which are added to those of the template. It can set nothing else: users who push to
	// the repository write it. A directory without the file has the template alone. Default: none. Example: cairn.yaml.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._-]+$`
	// +optional
	SettingsFile string `json:"settingsFile,omitempty"`
}

// StackSetTerragrunt selects Terragrunt units of the Repository: directories with a terragrunt.hcl that names a source
// itself or in a file that it includes, or with code. A terragrunt.hcl that another unit includes is none.
type StackSetTerragrunt struct {
	// Include are patterns for the paths of directories, as in directories. Example: ["live/{env}/{name}"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	Include []string `json:"include"`

	// Exclude are globs for paths of directories that are not items, whatever include matches. A unit that depends on
	// one of them gets no order. Example: ["live/sandbox/**"].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=atomic
	// +optional
	Exclude []string `json:"exclude,omitempty"`
}

// StackSetTemplate is what each Stack is created from.
type StackSetTemplate struct {
	// Metadata contains the name, the labels and the annotations of the Stacks. They get the label cairn.dev/stackset
	// too, and cairn.dev/stackset-namespace in another namespace.
	Metadata StackSetMetadata `json:"metadata"`
	// Spec is the spec of the Stacks. It has the fields of spec of a Stack; strings can contain expressions.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:XPreserveUnknownFields
	Spec apiextensionsv1.JSON `json:"spec"`
}

// StackSetMetadata is the metadata of the Stacks.
type StackSetMetadata struct {
	// Name is the name of each Stack. Different items must have different names. Example:
	// "${params.env}-${params.name}".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2000
	Name string `json:"name"`
	// Namespace is the namespace of each Stack: that of the StackSet, or one of spec.namespaces. Any other value is an
	// error. Default: the namespace of the StackSet. Example: "shop-${params.env}".
	// +kubebuilder:validation:MaxLength=2000
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Labels of the Stacks. Values can contain expressions: params of lists and, if the name of the label begins with
	// directory.cairn.dev/, also captures and the directory. Labels of cairn.dev are rejected. Example:
	// {directory.cairn.dev/env: "${params.env}"}.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.startsWith('cairn.dev/'))",message="a StackSet cannot set labels of cairn.dev"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Stacks. Values can contain expressions. Annotations of cairn.dev are rejected.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.startsWith('cairn.dev/'))",message="a StackSet cannot set annotations of cairn.dev"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// StackSetRollout limits how many Stacks get a changed template at once.
type StackSetRollout struct {
	// MaxConcurrent is how many Stacks may have the changed template without having applied it. Stacks that are
	// suspended, that never apply, or that have applied nothing yet do not count. Default: 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// Order contains a label selector for each group of Stacks, by the labels of the template. A group begins once all
	// Stacks of the groups before it have applied the changed template. It does not wait for Stacks that are suspended,
	// that never apply, or that have applied nothing yet. Stacks that no selector matches are last.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Order []metav1.LabelSelector `json:"order,omitempty"`

	// PauseAfterFailures is how many Stacks may fail with the changed template before it is given to no other Stack.
	// Default: 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	PauseAfterFailures *int32 `json:"pauseAfterFailures,omitempty"`
}

// StackSetMove keeps the Stack From for the item whose name is To.
type StackSetMove struct {
	// From is the name of the Stack; of one in another namespace NAMESPACE/NAME.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	From string `json:"from"`
	// To is the name that the template has for the item now; in another namespace NAMESPACE/NAME. A Stack stays in its
	// namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	To string `json:"to"`
}

// StackSetStatus reports what was generated.
type StackSetStatus struct {
	// ObservedGeneration is the generation of the spec that the status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is the ref and the commit whose directories were listed. Example: main@sha1:1f3c….
	// +optional
	Revision string `json:"revision,omitempty"`
	// Generated is the number of Stacks that the generators and the template result in.
	// +kubebuilder:default=0
	// +optional
	Generated int32 `json:"generated"`
	// Applied is the number of Stacks that have applied the inputs of the current template.
	// +kubebuilder:default=0
	// +optional
	Applied int32 `json:"applied"`
	// Changing is the number of Stacks that have the current template and have not applied it yet.
	// +kubebuilder:default=0
	// +optional
	Changing int32 `json:"changing"`
	// Outdated is the number of Stacks that have an earlier template, or fields that differ from the template.
	// +kubebuilder:default=0
	// +optional
	Outdated int32 `json:"outdated"`
	// Failed is the number of Stacks of changing that failed.
	// +kubebuilder:default=0
	// +optional
	Failed int32 `json:"failed"`
	// Gone is the number of Stacks of the StackSet that are not generated any more.
	// +kubebuilder:default=0
	// +optional
	Gone int32 `json:"gone"`
	// Groups are the groups of spec.rollout.order, in their order, and then the Stacks that no selector matches. Only
	// with an order.
	// +listType=atomic
	// +optional
	Groups []StackSetGroup `json:"groups,omitempty"`
	// Preview is what mode Create would do. Only in mode Preview.
	// +optional
	Preview *StackSetPreviewed `json:"preview,omitempty"`
	// Deletions are the Stacks that wait for a user who confirms that they are deleted. Only with prune Delete.
	// +optional
	Deletions *StackSetDeletions `json:"deletions,omitempty"`
	// Conditions: Ready, and Stalled while it waits until a user acts.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StackSetGroup is the progress of a group of Stacks.
type StackSetGroup struct {
	// Name is the selector of the group, or "others" for the Stacks that no selector matches. Example: env=dev.
	Name string `json:"name"`
	// Generated is the number of Stacks that the generators and the template result in.
	Generated int32 `json:"generated"`
	// Applied is the number of Stacks that have applied the inputs of the current template.
	Applied int32 `json:"applied"`
	// Failed is the number of Stacks that failed with the current template.
	Failed int32 `json:"failed"`
}

// StackSetPreviewed is what mode Create would do.
type StackSetPreviewed struct {
	// Create, Change and Suspend are the names of the first 20 Stacks that would be created, changed and suspended; of
	// those in other namespaces NAMESPACE/NAME.
	// +listType=atomic
	// +optional
	Create []string `json:"create,omitempty"`
	// +listType=atomic
	// +optional
	Change []string `json:"change,omitempty"`
	// +listType=atomic
	// +optional
	Suspend []string `json:"suspend,omitempty"`
	// Samples are up to three of the Stacks, with metadata and spec.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +listType=atomic
	// +optional
	Samples []apiextensionsv1.JSON `json:"samples,omitempty"`
}

// StackSetDeletions are the Stacks that wait to be deleted.
type StackSetDeletions struct {
	// Digest identifies the exact list of Stacks, by name and UID. The annotation cairn.dev/confirm-deletions confirms
	// it.
	Digest string `json:"digest"`
	// Count is the number of Stacks.
	Count int32 `json:"count"`
	// Names are the names of the first 20 Stacks; of those in other namespaces NAMESPACE/NAME.
	// +listType=atomic
	Names []string `json:"names"`
}
