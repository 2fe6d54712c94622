package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StackHold is a pull request that a user applied before its merge. The Stack has the code of that merge until the pull
// request is merged or closed, or a user unlocks the Stack: no other commit is applied meanwhile.
type StackHold struct {
	// Namespace of the PullRequest.
	Namespace string `json:"namespace"`
	// Name of the PullRequest.
	Name string `json:"name"`
	// UID of the PullRequest.
	UID types.UID `json:"uid"`
	// Number of the pull request at the Git provider. Example: 12.
	Number int64 `json:"number"`
	// Head is the commit of the head that is applied. A newer head is applied after another command.
	Head string `json:"head"`
	// Base is the commit of the base that the head is merged into.
	Base string `json:"base"`
	// By is the user who applied it, as the name of a user for RBAC. Example: gitea:git.example.com:bob.
	By string `json:"by"`
	// Since is when Cairn read the command.
	Since metav1.Time `json:"since"`
	// Deadline is when the hold ends, unless an apply is in progress then. Unset once the pull request is merged: the
	// hold ends when the base is fetched.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
}

// Text names the pull request: "pull request 12".
func (h *StackHold) Text() string { return fmt.Sprintf("pull request %d", h.Number) }

// Until describes when the hold ends: "until it is merged or closed, or until 2026-12-03 10:00 UTC".
func (h *StackHold) Until() string {
	text := "until it is merged or closed"
	if h.Deadline != nil {
		text += ", or until " + h.Deadline.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

// IsOver reports whether the deadline of the hold has passed.
func (h *StackHold) IsOver(now time.Time) bool {
	return h.Deadline != nil && !now.Before(h.Deadline.Time)
}

// HoldEnd is why a hold ended.
//
// +kubebuilder:validation:Enum=Merged;Closed;Unlocked;Expired;Deleted
type HoldEnd string

// Why a hold ended.
const (
	// HoldMerged: the pull request is merged, and the base has it.
	HoldMerged HoldEnd = "Merged"
	// HoldClosed: the pull request is closed without a merge.
	HoldClosed HoldEnd = "Closed"
	// HoldUnlocked: a user unlocked the Stack.
	HoldUnlocked HoldEnd = "Unlocked"
	// HoldExpired: the pull request was not merged before the deadline of the hold.
	HoldExpired HoldEnd = "Expired"
	// HoldDeleted: the PullRequest was deleted, or is one of another Repository than that of the Stack now.
	HoldDeleted HoldEnd = "Deleted"
)

// EndedHold is a hold that ended without a merge. What it applied is left by a plan that waits for an approval,
// whatever the other rules of the Stack are.
type EndedHold struct {
	// Number of the pull request at the Git provider. Example: 12.
	Number int64 `json:"number"`
	// Head is the commit of the head that was applied last.
	Head string `json:"head"`
	// Reason is why the hold ended.
	Reason HoldEnd `json:"reason"`
}

// Text describes the pull request: "pull request 12, which was closed without a merge".
func (e *EndedHold) Text() string {
	why := map[HoldEnd]string{
		HoldClosed: "closed without a merge", HoldUnlocked: "unlocked", HoldDeleted: "deleted",
		HoldExpired: "not merged before its deadline",
	}[e.Reason]
	return fmt.Sprintf("pull request %d, which was %s", e.Number, why)
}

// PullRequestHold is a Stack to which a pull request is applied before its merge, and what the Stack did with it.
type PullRequestHold struct {
	PullRequestStackApply `json:",inline"`

	// Head is the commit of the head that a user applied.
	Head string `json:"head"`
	// Base is the commit of the base that the head is merged into.
	Base string `json:"base"`
	// Branch is that of the base when the user applied it. A merge into another one is a close for the Stack. Unset in
	// a hold of an earlier version, for which any branch counts.
	// +optional
	Branch string `json:"branch,omitempty"`
	// By is the user who applied it, as the name of a user for RBAC. Example: gitea:git.example.com:bob.
	By string `json:"by"`
	// At is when Cairn read the command.
	At metav1.Time `json:"at"`
	// Deadline is when it does not hold the Stack any more: spec.pullRequests.holdTimeout of the Repository after the
	// command. Unset once the pull request is merged.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Released is why the pull request does not hold the Stack any more. Unset while it does.
	// +optional
	Released HoldEnd `json:"released,omitempty"`
}

// ApplyWhen is when a pull request is applied.
//
// +kubebuilder:validation:Enum=AfterMerge;BeforeMerge
type ApplyWhen string

// When a pull request is applied.
const (
	// ApplyAfterMerge: the merge starts the apply.
	ApplyAfterMerge ApplyWhen = "AfterMerge"
	// ApplyBeforeMerge: the comment /cairn apply can start it before. Stacks that no user applied then are applied
	// after the merge.
	ApplyBeforeMerge ApplyWhen = "BeforeMerge"
)
