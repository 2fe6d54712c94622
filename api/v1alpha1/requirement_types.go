package v1alpha1

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requirement is what a pull request needs before it is applied, if that is before its merge.
//
// +kubebuilder:validation:Enum=Approved;Mergeable;Undiverged
type Requirement string

// Requirements of an apply before the merge.
const (
	// RequirementApproved: a review at the Git provider approves the head commit. It is by another user than the one
	// who opened the pull request, and the rules of the Git provider require no other review.
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

// PullRequestRequirement is a requirement, as it was evaluated last: after an update of the pull request, for each
// comment /cairn apply, and when the apply of a Run would start.
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

// Text describes the requirement: "Approved is missing: no review approves head 1f3c9a2b".
func (r *PullRequestRequirement) Text() string {
	return fmt.Sprintf("%s is %s: %s", r.Type, strings.ToLower(string(r.State)), r.Message)
}

// RunRequirements are what a pull request needs when a Run would apply it before its merge.
type RunRequirements struct {
	// Types are spec.pullRequests.requirements of the Repository at the time when the Run was created.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +listType=atomic
	Types []Requirement `json:"types"`
	// PullRequest is the PullRequest whose code the Run applies, and which evaluates them.
	PullRequest CarriedFrom `json:"pullRequest"`
}

// EvaluatedRequirements are the requirements of a Run, as its PullRequest evaluated them when the apply would start.
type EvaluatedRequirements struct {
	// PlanDigest is status.plan.digest of the plan for which they count.
	PlanDigest string `json:"planDigest"`
	// At is when Cairn evaluated them. Met counts for a minute.
	At metav1.Time `json:"at"`
	// Results has each requirement with its state.
	// +kubebuilder:validation:MaxItems=3
	// +listType=atomic
	Results []PullRequestRequirement `json:"results"`
}
