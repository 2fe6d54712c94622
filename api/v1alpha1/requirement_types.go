package v1alpha1

// Requirement is what a pull request needs before a comment /cairn apply applies it.
//
// +kubebuilder:validation:Enum=Approved;Mergeable;Undiverged
type Requirement string

// Requirements of an apply before the merge.
const (
	// RequirementApproved: a review at the Git provider approves the head commit. It is by another user than the one who
	// opened the pull request, and the rules of the Git provider require no other review.
	RequirementApproved Requirement = "Approved"
	// RequirementMergeable: the Git provider would merge the pull request now.
	RequirementMergeable Requirement = "Mergeable"
	// RequirementUndiverged: the head has each commit of the base that changes the code of the Stack.
	RequirementUndiverged Requirement = "Undiverged"
)

// RequirementState is whether a pull request has what is required.
//
// +kubebuilder:validation:Enum=Met;Missing;Unknown
type RequirementState string

// States of requirements.
const (
	RequirementMet     RequirementState = "Met"
	RequirementMissing RequirementState = "Missing"
	// RequirementUnknown: it cannot be read now. An apply waits.
	RequirementUnknown RequirementState = "Unknown"
)

// PullRequestRequirement is a requirement of the Repository, as it was evaluated last: after an update of the pull
// request, and for each comment /cairn apply.
type PullRequestRequirement struct {
	// Type is the requirement.
	Type Requirement `json:"type"`
	// State is Met, Missing or Unknown.
	State RequirementState `json:"state"`
	// Message is what is missing, and who can act, at most 500 bytes. Unset if it is met.
	// +optional
	Message string `json:"message,omitempty"`
	// Stacks are those that it keeps back, as namespace/name. Empty for all.
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`
}
