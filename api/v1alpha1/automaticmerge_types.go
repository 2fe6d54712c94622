package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AutomaticMerge lets Cairn merge a pull request that is applied before its merge.
type AutomaticMerge struct {
	// Method is how the Git provider merges it: Merge with a merge commit, Squash, or Rebase. The repository has to
	// allow it. At GitLab, the project decides between Merge and Rebase, so that only Merge and Squash are supported
	// there. Example: Squash.
	Method MergeMethod `json:"method"`
}

// MergeMethod is how a Git provider merges a pull request.
//
// +kubebuilder:validation:Enum=Merge;Squash;Rebase
type MergeMethod string

// Methods of merges.
const (
	// MergeMethodMerge adds a merge commit to the base.
	MergeMethodMerge MergeMethod = "Merge"
	// MergeMethodSquash adds one commit with all changes to the base.
	MergeMethodSquash MergeMethod = "Squash"
	// MergeMethodRebase adds the commits of the head to the base.
	MergeMethodRebase MergeMethod = "Rebase"
)

// AutomaticMergeState is the state of an automatic merge.
//
// +kubebuilder:validation:Enum=Waiting;Merging;Accepted;Failed
type AutomaticMergeState string

// States of an automatic merge.
const (
	// AutomaticMergeWaiting: the pull request is not merged yet, for the reason in the message.
	AutomaticMergeWaiting AutomaticMergeState = "Waiting"
	// AutomaticMergeMerging: Cairn sends the request to merge it.
	AutomaticMergeMerging AutomaticMergeState = "Merging"
	// AutomaticMergeAccepted: the Git provider accepted the request.
	AutomaticMergeAccepted AutomaticMergeState = "Accepted"
	// AutomaticMergeFailed: the Git provider rejected the request.
	AutomaticMergeFailed AutomaticMergeState = "Failed"
)

// PullRequestAutomaticMerge is the automatic merge of a pull request.
type PullRequestAutomaticMerge struct {
	// Head is the only commit of the head that is merged.
	Head string `json:"head"`
	// Method is how it is merged.
	Method MergeMethod `json:"method"`
	// CommandAt is when Cairn read the newest command that applied the pull request. A newer command permits new
	// attempts. Unset without a command.
	// +optional
	CommandAt metav1.Time `json:"commandAt,omitempty,omitzero"`
	// State of the merge.
	State AutomaticMergeState `json:"state"`
	// Message is why it waits or failed, and what to do, at most 500 bytes. Unset otherwise.
	// +optional
	Message string `json:"message,omitempty"`
	// Attempts is the number of requests to merge this head.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// NextAttemptAt is when Cairn sends the request again after a failure. Unset if it does not.
	// +optional
	NextAttemptAt *metav1.Time `json:"nextAttemptAt,omitempty"`
}
