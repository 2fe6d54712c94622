package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State describes the Terraform state of a Stack: its versions and its lock. It has the name of the Stack. The
// content is in Secrets of type cairn.dev/state, or in the bucket; this object specifies which versions are valid.
// Only Cairn writes States.
//
// State has no status subresource, so that Cairn can create and lock it in one write.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Version",type=integer,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Serial",type=integer,JSONPath=`.status.serial`
// +kubebuilder:printcolumn:name="Resources",type=string,JSONPath=`.status.resources`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Locked by",type=string,JSONPath=`.status.lock['run','by']`
// +kubebuilder:printcolumn:name="Updated by",type=string,JSONPath=`.status.updatedBy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Lineage",type=string,priority=1,JSONPath=`.status.lineage`
type State struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec contains what Cairn needs if a backup tool restores the State without its status.
	// +optional
	Spec StateSpec `json:"spec,omitempty"`
	// Status specifies which versions are valid and which client can write.
	// +structType=atomic
	// +optional
	Status StateStatus `json:"status,omitempty"`
}

// StateList is a list of States.
//
// +kubebuilder:object:root=true
type StateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []State `json:"items"`
}

// StateSpec contains what Cairn needs if a backup tool restores the State without its status. Only Cairn writes it.
type StateSpec struct {
	// Version is the number of the current version, as in the status. If the status has none, the status was lost:
	// Cairn plans nothing until a user restores the state. 0 before the first write.
	// +optional
	Version int64 `json:"version,omitempty"`
}

// MostOutputs is the maximum number of outputs of a Stack that other Stacks can use. Cairn sorts outputs by name.
const MostOutputs = 1000

// StateStatus specifies which versions are valid and which client can write.
type StateStatus struct {
	// Version is the number of the current version. Each accepted write increases it by one. 0 before the
	// first write.
	// +optional
	Version int64 `json:"version,omitempty"`
	// Serial is the serial of the current version, as the engine sets it.
	// +optional
	Serial int64 `json:"serial,omitempty"`
	// Lineage is the lineage of the state, as the engine sets it. Cairn rejects a state with another lineage.
	// +optional
	Lineage string `json:"lineage,omitempty"`
	// SHA256 is the digest of the current version, before encryption and compression. Example: sha256:ab12....
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// Size is the size of the current version in bytes, before compression.
	// +optional
	Size int64 `json:"size,omitempty"`
	// Resources is the number of resource instances in the current version, without data sources, or unknown if the
	// engine encrypts the state.
	// +optional
	Resources ResourceCount `json:"resources,omitempty"`
	// UpdatedBy is the name of the Run that wrote the current version. Unset if a user wrote it: versions has
	// the name of the user. Example: net-7.
	// +optional
	UpdatedBy string `json:"updatedBy,omitempty"`
	// InputsDigest is the digest of the inputs of the last apply that started, or of later inputs that needed
	// no change. A destroy uses these inputs. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Revision is the revision of the code of the last apply that started. A new Stack with this State lists the users
	// of later commits. Unset if an older release of Cairn applied it. Example: main@sha1:1f3c....
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Revision string `json:"revision,omitempty"`
	// Outputs contains a keyed hash of the value of each output in the current version, by name. Other Stacks
	// detect changes with it. The key is a secret of the installation, so the hashes do not reveal values. At
	// most 1,000.
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`
	// Lock is the lock of the state. An apply holds it, or the engine of a user on the user's machine. Unset
	// if the state is not locked.
	// +optional
	Lock *Lock `json:"lock,omitempty"`
	// Rescued is a state that a runner could not write when its apply ended. Cairn accepts it as a version
	// before the next plan. If another version was written in the meantime, Cairn plans nothing until a user
	// merges both and runs cairn state push --force.
	// +optional
	Rescued *RescuedState `json:"rescued,omitempty"`
	// Backend is the backend of the engine that stores the state, as spec.backend of the Stack configures it.
	// Unset if Cairn stores the state.
	// +optional
	Backend *StateBackend `json:"backend,omitempty"`
	// Move allows the next plan to copy the current version to the backend of the Stack, if that has no state
	// or an older one. Unset if no migration was requested.
	// +optional
	Move *StateMove `json:"move,omitempty"`
	// StackUID is the UID of the Stack of the last apply that started. Unset if no apply of this state started,
	// as after a push or a plan that adopted the state of a backend. The first apply of any other Stack requires
	// an approval, and the deletion of any other Stack does not destroy the resources.
	// +optional
	StackUID types.UID `json:"stackUID,omitempty"`
	// SelfApproval keeps spec.preventSelfApproval of the Stack. It remains when a user removes the rule from
	// the Stack, or deletes the Stack and creates it again, until an apply that another user approved. Unset
	// if the rule does not apply.
	// +optional
	SelfApproval *KeptSelfApproval `json:"selfApproval,omitempty"`
	// Versions are the stored versions, oldest first. The last one is the current version.
	// +listType=map
	// +listMapKey=version
	// +optional
	Versions []StateVersion `json:"versions,omitempty"`
}

// TakenOverBy reports whether the Stack with this UID takes the state over when it applies: the state has content, or
// another Stack applied it, and this Stack never did.
func (s *StateStatus) TakenOverBy(stack types.UID) bool {
	applied := stack != "" && s.StackUID == stack
	content := s.Resources != 0 || len(s.Outputs) > 0 || s.Rescued != nil
	return !applied && (s.StackUID != "" || content)
}

// Lock is the lock of a state. It specifies which client can write.
type Lock struct {
	// ID is the lock ID that the engine generated. Every write must send it.
	ID string `json:"id"`
	// Run is the name of the Run that holds the lock. Unset if a user holds it. Example: net-7.
	// +optional
	Run string `json:"run,omitempty"`
	// Attempt is the number of the attempt of the Run.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// PodUID is the UID of the pod of the attempt. Cairn rejects writes from other pods.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// By is the name of the user whose engine holds the lock, as the API server authenticates it. Cairn denies
	// writes by other users, and the lock does not expire. Unset if a Run holds the lock. Example:
	// alice@example.com.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`
	// Who is the holder of the lock as the engine reports it. Example: runner@net-7-plan-1.
	// +optional
	Who string `json:"who,omitempty"`
	// Since is the time when the lock was acquired.
	Since metav1.Time `json:"since"`
}

// StateBackend reports the last observed content of a backend of the engine.
type StateBackend struct {
	// Type is the type of the backend. Example: s3.
	Type string `json:"type"`
	// Version is the version of the State that the backend contains. 0 if the backend is empty. If the State
	// has a newer version, as after a rescue or a rollback, the next plan copies it to the backend.
	// +optional
	Version int64 `json:"version,omitempty"`
	// Serial is the serial of the state in the backend.
	// +optional
	Serial int64 `json:"serial,omitempty"`
}

// StateMove allows Cairn to copy one version to the backend of the Stack.
type StateMove struct {
	// Version is the version to copy. The permission ends when there is a newer version.
	Version int64 `json:"version"`
	// By is the name of the user who requested the migration. Example: alice@example.com.
	By string `json:"by"`
	// At is the time of the request.
	At metav1.Time `json:"at"`
}

// KeptSelfApproval is the rule of spec.preventSelfApproval, which a State keeps.
type KeptSelfApproval struct {
	// RemovedBy is the user who removed the rule from the Stack, or created the Stack without it. Unset while
	// the Stack has the rule. Example: alice@example.com.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RemovedBy string `json:"removedBy,omitempty"`
}

// StateStorage is where the content of a version is stored.
//
// +kubebuilder:validation:Enum=Secret;Bucket
type StateStorage string

// Storages of a version.
const (
	// StateStorageSecret stores the content in Secrets.
	StateStorageSecret StateStorage = "Secret"
	// StateStorageBucket stores the content in the bucket.
	StateStorageBucket StateStorage = "Bucket"
)

// StateVersion is one version of a state.
type StateVersion struct {
	// Version is the number of the version. The first version has number 1.
	Version int64 `json:"version"`
	// Serial is the serial of the version, as the engine sets it.
	Serial int64 `json:"serial"`
	// SHA256 is the digest of the version, before encryption and compression.
	SHA256 string `json:"sha256"`
	// Size is the size of the version in bytes, before compression.
	Size int64 `json:"size"`
	// Resources is the number of resource instances in the version, without data sources; -1 if the engine encrypts
	// its state. Unset for a version that a release before this field wrote. Example: 12.
	// +optional
	Resources *int32 `json:"resources,omitempty"`
	// Storage is where the content is stored: Secret or Bucket. Example: Secret.
	Storage StateStorage `json:"storage"`
	// Chunks is the number of Secrets that contain the version. They are named
	// <state>-state-v<version>-<digest>-<chunk>. Unset if the storage is Bucket.
	// +optional
	Chunks int32 `json:"chunks,omitempty"`
	// Run is the name of the Run that wrote the version. Unset if a user wrote it. Example: net-7.
	// +optional
	Run string `json:"run,omitempty"`
	// Attempt is the number of the attempt of the Run.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// By is the name of the user who wrote the version. Unset if a Run wrote it. Example: alice@example.com.
	// +optional
	By string `json:"by,omitempty"`
	// At is the time when the version was written.
	At metav1.Time `json:"at"`
}

// RescuedState is a state that an attempt could not write. Its content is in the bucket.
type RescuedState struct {
	// SHA256 is the digest of the state, before encryption and compression.
	SHA256 string `json:"sha256"`
	// Serial is the serial of the state, as the engine sets it.
	Serial int64 `json:"serial"`
	// Lineage is the lineage of the state, as the engine sets it.
	Lineage string `json:"lineage"`
	// Run is the name of the Run of the attempt. Example: net-7.
	Run string `json:"run"`
	// Attempt is the number of the attempt of the Run.
	Attempt int32 `json:"attempt"`
	// Base is the SHA256 of the version that the attempt started from or last wrote. Unset if there was none.
	// Cairn accepts the rescued state only while this version is the current one.
	// +optional
	Base string `json:"base,omitempty"`
	// At is the time when the state was saved.
	At metav1.Time `json:"at"`
}
