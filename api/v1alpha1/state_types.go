package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State is what Cairn knows of a Stack's state: its versions and its lock. It has the Stack's name. The bytes are in
// Secrets of type cairn.dev/state, or in the bucket; this object says which of them count. Only Cairn writes it.
//
// It has no status subresource, so that a lock on a new State is one write.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Version",type=integer,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Serial",type=integer,JSONPath=`.status.serial`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Locked by",type=string,JSONPath=`.status.lock['run','by']`
// +kubebuilder:printcolumn:name="Updated by",type=string,JSONPath=`.status.updatedBy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Lineage",type=string,priority=1,JSONPath=`.status.lineage`
type State struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Status says which bytes count and who may write.
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

// MostOutputs is how many outputs of a Stack others can use, the first by name.
const MostOutputs = 1000

// StateStatus says which bytes count and who may write.
type StateStatus struct {
	// Version counts the accepted writes; 0 before the first.
	// +optional
	Version int64 `json:"version,omitempty"`
	// Serial as the engine counts it.
	// +optional
	Serial int64 `json:"serial,omitempty"`
	// Lineage as the engine made it; another one is refused.
	// +optional
	Lineage string `json:"lineage,omitempty"`
	// SHA256 of the current version, in clear and uncompressed. Example: sha256:ab12...
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// Size of the current version in bytes, uncompressed.
	// +optional
	Size int64 `json:"size,omitempty"`
	// Resources is how many resource instances the current version holds, data sources not counted.
	// +optional
	Resources int32 `json:"resources,omitempty"`
	// UpdatedBy is the Run that wrote the current version; empty when a person did, whom the version names.
	// +optional
	UpdatedBy string `json:"updatedBy,omitempty"`
	// InputsDigest is the digest of the inputs of the last apply that began, or of later inputs that needed no change. A destroy uses
	// these inputs. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Outputs has a fingerprint of each output's value in the current version, by name: what other Stacks that use it know a
	// change by. It is keyed with a secret of the install, so that a value cannot be guessed from it. 1,000 at most.
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`
	// OutputsVersion is the version whose outputs were looked at, so that no Outputs means that it has none. Below Version
	// they mean that nobody looked yet, since a Cairn that knew of no fingerprints wrote it.
	// +optional
	OutputsVersion int64 `json:"outputsVersion,omitempty"`
	// Lock is held while an apply is under way, or while a user's engine works with the state on a machine of the user.
	// +optional
	Lock *Lock `json:"lock,omitempty"`
	// Rescued is a state that could not be written when it was made. It becomes a version before the next plan, unless another
	// version was written since: then nothing is planned until a user has merged the two and pushed the result by force.
	// +optional
	Rescued *RescuedState `json:"rescued,omitempty"`
	// Backend is the engine's own that keeps the state, as spec.backend of the Stack names it; absent where Cairn keeps it.
	// +optional
	Backend *StateBackend `json:"backend,omitempty"`
	// Move lets the next plan put the current version into the Stack's backend, where that has none or an older one.
	// +optional
	Move *StateMove `json:"move,omitempty"`
	// Versions that are kept, oldest first; the last one is the current one.
	// +listType=map
	// +listMapKey=version
	// +optional
	Versions []StateVersion `json:"versions,omitempty"`
}

// Lock says who may write a state.
type Lock struct {
	// ID that the engine made; every write has to carry it.
	ID string `json:"id"`
	// Run that holds it; empty for a lock of a user.
	// +optional
	Run string `json:"run,omitempty"`
	// Attempt of the Run.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// PodUID of the attempt's pod. Writes of any other pod are refused.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// By is the user whose engine holds it, by the name that the API server has for the user; empty for a lock of a Run. Writes of any
	// other user are denied, and the lock does not expire. Example: alice@example.com.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`
	// Who as the engine tells it. Example: runner@net-7-plan-1.
	// +optional
	Who string `json:"who,omitempty"`
	// Since is when it was taken.
	Since metav1.Time `json:"since"`
}

// StateBackend is what was seen last of an engine's own backend.
type StateBackend struct {
	// Type of it. Example: s3.
	Type string `json:"type"`
	// Version that it has; 0 when it had none. When the current one is newer, as after a rescue or a rollback, the next plan puts that
	// there.
	// +optional
	Version int64 `json:"version,omitempty"`
	// Serial of what it has.
	// +optional
	Serial int64 `json:"serial,omitempty"`
}

// StateMove is a person's word that a version may be put into the Stack's backend.
type StateMove struct {
	// Version that it is about; the word is void once there is a newer one.
	Version int64 `json:"version"`
	// By is the person. Example: alice@example.com.
	By string `json:"by"`
	// At is when they said so.
	At metav1.Time `json:"at"`
}

// StateStorage says where the bytes of a version are stored: in Secrets or in the bucket.
//
// +kubebuilder:validation:Enum=Secret;Bucket
type StateStorage string

// Where the bytes of a version are.
const (
	StateStorageSecret StateStorage = "Secret"
	StateStorageBucket StateStorage = "Bucket"
)

// StateVersion is one version of a state.
type StateVersion struct {
	// Version counts from 1.
	Version int64 `json:"version"`
	// Serial as the engine counts it.
	Serial int64 `json:"serial"`
	// SHA256 in clear and uncompressed.
	SHA256 string `json:"sha256"`
	// Size in bytes, uncompressed.
	Size int64 `json:"size"`
	// Storage is where the bytes are: Secret or Bucket. Example: Secret.
	Storage StateStorage `json:"storage"`
	// Chunks is how many Secrets hold them, named <state>-state-v<version>-<digest>-<chunk>.
	// +optional
	Chunks int32 `json:"chunks,omitempty"`
	// Run that wrote it.
	// +optional
	Run string `json:"run,omitempty"`
	// Attempt of the Run.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// By is the person who wrote it, if no Run did. Example: alice@example.com.
	// +optional
	By string `json:"by,omitempty"`
	// At is when it was written.
	At metav1.Time `json:"at"`
}

// RescuedState is a state that an attempt could not write. Its bytes are in the bucket.
type RescuedState struct {
	// SHA256 in clear.
	SHA256 string `json:"sha256"`
	// Serial as the engine counts it.
	Serial int64 `json:"serial"`
	// Lineage as the engine made it.
	Lineage string `json:"lineage"`
	// Run whose attempt it is from.
	Run string `json:"run"`
	// Attempt of the Run.
	Attempt int32 `json:"attempt"`
	// Base is the SHA256 of the version that the attempt started from, or wrote last; empty when there was none. The rescued state
	// becomes a version only while that is the current one.
	// +optional
	Base string `json:"base,omitempty"`
	// At is when it was kept.
	At metav1.Time `json:"at"`
}
