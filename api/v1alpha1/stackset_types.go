package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StackSetLabel is on each Stack of a StackSet, with its name. A Stack that a user created belongs to the StackSet of the
// same namespace once it has this label.
const StackSetLabel = "cairn.dev/stackset"

// Annotations of Stacks that a StackSet writes, and of a StackSet that a user writes.
const (
	// RenderedAnnotation is the digest of what the StackSet applied last.
	RenderedAnnotation = "cairn.dev/stackset-rendered"
	// ItemGoneAnnotation is why the StackSet does not generate the Stack any more. The StackSet suspended it.
	ItemGoneAnnotation = "cairn.dev/stackset-item-gone"
	// ConfirmDeletionsAnnotation is the digest of the Stacks to delete (status.deletions.digest). It needs the verb destroy.
	ConfirmDeletionsAnnotation = "cairn.dev/confirm-deletions"
)

// StackSetMode is what a StackSet does with what it generates.
// +kubebuilder:validation:Enum=Create;Preview
type StackSetMode string

// Modes of a StackSet.
const (
	// StackSetCreate creates, changes and removes Stacks.
	StackSetCreate StackSetMode = "Create"
	// StackSetPreview writes nothing but the status.
	StackSetPreview StackSetMode = "Preview"
)

// StackSetPrune is what happens with a Stack that is not generated any more.
// +kubebuilder:validation:Enum=Keep;Delete
type StackSetPrune string

// What happens with a Stack that is not generated any more.
const (
	// PruneKeep suspends the Stack.
	PruneKeep StackSetPrune = "Keep"
	// PruneDelete also deletes it, once a user has confirmed the list of all of them.
	PruneDelete StackSetPrune = "Delete"
)

// StackSet creates a Stack for each directory of a repository, and keeps them as its template has them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type StackSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares what to generate.
	Spec StackSetSpec `json:"spec"`
	// Status reports what was generated.
	Status StackSetStatus `json:"status,omitempty"`
}

// StackSetSpec declares what to generate.
type StackSetSpec struct {
	// Mode Preview writes nothing but the status. Default: Create.
	Mode StackSetMode `json:"mode,omitempty"`
	// Repository whose directories are listed.
	Repository *RepositoryRef `json:"repository,omitempty"`
	// Ref is the branch, tag or commit. Default: that of the Repository.
	Ref string `json:"ref,omitempty"`
	// Generators list the items, of which each becomes a Stack.
	Generators []StackSetGenerator `json:"generators"`
	// Template of the Stacks. Strings can have CEL in ${...}, with the variables params and directory.
	Template StackSetTemplate `json:"template"`
	// Prune is what happens with a Stack that is not generated any more. Default: Keep.
	Prune StackSetPrune `json:"prune,omitempty"`
	// MaxDeletions is how many Stacks, or which part of them, may disappear at once. If more do, none is suspended or
	// deleted. Default: 10%.
	MaxDeletions *intstr.IntOrString `json:"maxDeletions,omitempty"`
	// MaxStacks is how many Stacks are generated at most. Default: 1000.
	MaxStacks *int32 `json:"maxStacks,omitempty"`
	// Rollout limits how many Stacks change at once.
	Rollout *StackSetRollout `json:"rollout,omitempty"`
	// Ignore are fields that users may change. Example: [spec.suspend].
	Ignore []string `json:"ignore,omitempty"`
	// Moved lets a Stack continue under its old name when its item gets another one.
	Moved []StackSetMove `json:"moved,omitempty"`
}

// StackSetGenerator lists items. Exactly one field is set.
type StackSetGenerator struct {
	StackSetItems `json:",inline"`
	// Matrix combines each item of each with each of the others.
	Matrix []StackSetItems `json:"matrix,omitempty"`
}

// StackSetItems are directories, or the entries of a list.
type StackSetItems struct {
	// Directories of the Repository that contain code.
	Directories *StackSetDirectories `json:"directories,omitempty"`
	// List has the params of each item.
	List []apiextensionsv1.JSON `json:"list,omitempty"`
}

// StackSetDirectories are those that Include matches and Exclude does not.
type StackSetDirectories struct {
	// Include are patterns for paths, with captures. Example: ["envs/{env}/{name}"].
	Include []string `json:"include"`
	// Exclude are globs. Example: ["envs/*/sandbox/**"].
	Exclude []string `json:"exclude,omitempty"`
	// Marker is a glob for the name of a file that a directory must have. Default: a file of OpenTofu, Terraform or Terragrunt.
	Marker string `json:"marker,omitempty"`
}

// StackSetTemplate is the template of a Stack.
type StackSetTemplate struct {
	// Metadata of the Stacks: name, labels and annotations.
	Metadata StackSetMetadata `json:"metadata"`
	// Spec of the Stacks.
	Spec apiextensionsv1.JSON `json:"spec"`
}

// StackSetMetadata is the metadata of the Stacks.
type StackSetMetadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// StackSetRollout limits how many Stacks change at once.
type StackSetRollout struct {
	// MaxConcurrent is how many Stacks may be between a change of their spec and its apply. Default: 10.
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
	// Order has a selector for each group; a group starts when the one before has applied its change. Stacks of no group
	// are last.
	Order []metav1.LabelSelector `json:"order,omitempty"`
	// PauseAfterFailures is how many Stacks may fail before no other one is changed. Default: 3.
	PauseAfterFailures *int32 `json:"pauseAfterFailures,omitempty"`
}

// StackSetMove lets the Stack From continue as the item whose name is To.
type StackSetMove struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// StackSetStatus reports what was generated.
type StackSetStatus struct {
	// ObservedGeneration of the spec.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision that was listed. Example: main@sha1:1f3c.
	Revision string `json:"revision,omitempty"`
	// Generated, Applied, Changing, Failed and Gone count Stacks.
	Generated int32 `json:"generated,omitempty"`
	// Applied have applied the inputs of the current template.
	Applied int32 `json:"applied,omitempty"`
	// Changing have the current template, and did not apply it yet.
	Changing int32 `json:"changing,omitempty"`
	// Outdated have an earlier template.
	Outdated int32 `json:"outdated,omitempty"`
	// Failed are those of Changing whose Run failed.
	Failed int32 `json:"failed,omitempty"`
	// Gone are not generated any more.
	Gone int32 `json:"gone,omitempty"`
	// Deletions are the Stacks that wait to be deleted.
	Deletions *StackSetDeletions `json:"deletions,omitempty"`
	// Conditions: Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StackSetDeletions are the Stacks that wait to be deleted.
type StackSetDeletions struct {
	// Digest of the exact list of names and UIDs.
	Digest string `json:"digest"`
	// Names of the first of them.
	Names []string `json:"names"`
}
