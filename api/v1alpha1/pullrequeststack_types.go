package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PullRequestStack is a Stack that a pull request affects.
type PullRequestStack struct {
	// Namespace of the Stack.
	Namespace string `json:"namespace"`
	// Name of the Stack.
	Name string `json:"name"`
	// InputsDigest is the digest of everything that decides the plan. Unset if the plan cannot start.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// PlanNumber is status.plans of the PullRequest when the plan was started.
	// +optional
	PlanNumber int64 `json:"planNumber,omitempty"`
	// Run is the Run with the plan, in the namespace of the Stack. Unset before it is created.
	// +optional
	Run string `json:"run,omitempty"`
	// RunUID is the UID of the Run.
	// +optional
	RunUID types.UID `json:"runUID,omitempty"`
	// Phase of the Run.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`
	// Plan is the summary of the plan, without resources, and with at most 5 findings of policies and 30 outputs. Unset
	// until the plan succeeds.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// Message is why there is no plan, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// Backend is the type of the engine's backend that has the state. The plan gets Cairn's copy of the state, which
	// the last Run of the Stack read: it does not show what users changed there since. Unset if Cairn keeps the state.
	// Example: s3.
	// +optional
	Backend string `json:"backend,omitempty"`
	// DeletedDirectory is the directory of the Stack if the pull request deletes it. The plan then shows what
	// destroying the Stack would do. The merge does not destroy it.
	// +optional
	DeletedDirectory string `json:"deletedDirectory,omitempty"`
	// New is true if a StackSet would create the Stack after the merge. The plan then begins with an empty state. If
	// Message has why there is none, the status of the pull request does not fail.
	// +optional
	New bool `json:"new,omitempty"`
	// AwaitsCommand: the Stack is not planned before a user with the verb plan on it comments /cairn plan with the head
	// commit. The message has why.
	// +optional
	AwaitsCommand bool `json:"awaitsCommand,omitempty"`
	// Deferred: the Stack cannot be planned before the merge, because it reads an output that does not exist yet and
	// that another Stack of the pull request adds. The message names both. The status of the pull request does not
	// fail.
	// +optional
	Deferred bool `json:"deferred,omitempty"`
	// UnappliedRun is the Run of the Stack with changes of the base that were not applied when the plan ended, so that
	// the plan includes them. Unset if there was none. Example: net-2.
	// +optional
	UnappliedRun string `json:"unappliedRun,omitempty"`
	// OnMerge is what the Stack does when the pull request is merged. Unset while it is not known.
	// +optional
	OnMerge *StackOnMerge `json:"onMerge,omitempty"`
	// Retries is the number of comments that requested another plan of the same inputs.
	// +optional
	Retries int32 `json:"retries,omitempty"`
	// Shown is since when the comment of Cairn has the plan. A review that is not newer approves nothing. Unset while
	// the comment does not have it, and unless spec.pullRequests.carryApproval.from of the Repository lists Reviews.
	// +optional
	Shown *PullRequestShown `json:"shown,omitempty"`
	// Approval is the approval of the plan by a comment or a review. Unset if there is none.
	// +optional
	Approval *PullRequestApproval `json:"approval,omitempty"`
}

// PullRequestShown is since when the comment of Cairn has a plan.
type PullRequestShown struct {
	// Head is the head commit.
	Head string `json:"head"`
	// Fingerprint is that of the plan. Another plan with this fingerprint does the same.
	Fingerprint string `json:"fingerprint"`
	// Since is when the Git provider received it, by the clock of the Git provider, or when a comment /cairn reject
	// ended the approvals before it.
	Since metav1.Time `json:"since"`
}

// PullRequestApproval is the approval of a plan in a pull request.
type PullRequestApproval struct {
	// By is the user who approved, as the name of a user for RBAC. Example: gitea:git.example.com:bob.
	By string `json:"by"`
	// From is Reviews if it is a review at the Git provider. Default: Commands.
	// +optional
	From ApprovalSource `json:"from,omitempty"`
	// At is when Cairn read the comment, or the time of the review at the Git provider.
	At metav1.Time `json:"at"`
	// Head is the head commit that was approved.
	Head string `json:"head"`
	// PlanDigest is status.plan.digest of the Run whose plan was approved.
	PlanDigest string `json:"planDigest"`
	// Fingerprint is that of the approved plan. The approval counts for all plans with this fingerprint.
	Fingerprint string `json:"fingerprint"`
	// Author is true if the user has a commit in the pull request or opened it, or may have. With
	// spec.preventSelfApproval of the Stack, the approval does not count then.
	// +optional
	Author bool `json:"author,omitempty"`
	// Void is why the approval does not count any more. Unset while it counts. Example: the plan does something else
	// now.
	// +optional
	Void string `json:"void,omitempty"`
}

// StackOnMerge is what a Stack does when a pull request is merged, by the spec of the Stack and the plan of the pull
// request. The Run after the merge decides by its own plan.
type StackOnMerge struct {
	// Action is what follows the merge.
	Action StackMergeAction `json:"action"`
	// Rules are those that require an approval. Empty unless the action is AwaitApproval or Wait.
	// +listType=atomic
	// +optional
	Rules []ApprovalRule `json:"rules,omitempty"`
	// Message explains the action, at most 500 bytes. Example: spec.requireApprovalFor of the Stack lists Delete.
	// +optional
	Message string `json:"message,omitempty"`
	// Stage is the stage of a Pipeline whose release the Stack has, as PIPELINE/STAGE. Empty if none selects the Stack.
	// Example: shop/production.
	// +optional
	Stage string `json:"stage,omitempty"`
}

// StackMergeAction is what a Stack does when a pull request is merged.
//
// +kubebuilder:validation:Enum=Apply;AwaitApproval;Wait;Nothing;Stop;Move
type StackMergeAction string

// What a Stack does when a pull request is merged.
const (
	// StackMergeApply: the plan is applied without an approval.
	StackMergeApply StackMergeAction = "Apply"
	// StackMergeAwaitApproval: the plan waits for an approval.
	StackMergeAwaitApproval StackMergeAction = "AwaitApproval"
	// StackMergeWait: the merge is applied once another pull request that is applied to the Stack has ended, or once
	// the stage of a Pipeline that selects the Stack has a release with the merge.
	StackMergeWait StackMergeAction = "Wait"
	// StackMergeNothing: the plan has no changes.
	StackMergeNothing StackMergeAction = "Nothing"
	// StackMergeStop: nothing is applied and nothing is destroyed, for example since the directory of the Stack is
	// gone.
	StackMergeStop StackMergeAction = "Stop"
	// StackMergeMove: its StackSet lets the Stack read another directory, which is planned after the merge.
	StackMergeMove StackMergeAction = "Move"
)

// Text returns what the Stack does as the end of a sentence about it: "applies at once".
func (a StackMergeAction) Text() string {
	switch a {
	case StackMergeApply:
		return "applies at once"
	case StackMergeAwaitApproval:
		return "waits for an approval"
	case StackMergeWait:
		return "waits"
	case StackMergeNothing:
		return "applies nothing"
	case StackMergeStop:
		return "stops"
	case StackMergeMove:
		return "reads another directory"
	}
	return string(a)
}

// Text describes the approval: "approved by gitea:git.example.com:bob".
func (a *PullRequestApproval) Text() string {
	if a.Void != "" {
		return "the approval by " + a.By + " is void: " + a.Void
	}
	if a.From == ApprovalReviews {
		return "approved by a review of " + a.By
	}
	return "approved by " + a.By
}

// PullRequestStackSet is a StackSet whose list of Stacks a pull request changes.
type PullRequestStackSet struct {
	// Namespace of the StackSet and of its Stacks.
	Namespace string `json:"namespace"`
	// Name of the StackSet.
	Name string `json:"name"`
	// Reason is the reason that the StackSet would have after the merge if it then wrote nothing. The status of the
	// pull request fails. Unset if it would write, or if it has the same error without the merge. Example:
	// RenderingFailed.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason, or is what else prevents that the StackSet writes.
	// +optional
	Message string `json:"message,omitempty"`
	// Prune is spec.prune of the StackSet: what happens with Stacks that go.
	// +optional
	Prune StackSetPrune `json:"prune,omitempty"`
	// Go is the number of Stacks that would not be generated any more.
	// +optional
	Go int32 `json:"go,omitempty"`
	// Change is the number of Stacks whose spec, labels or annotations would differ.
	// +optional
	Change int32 `json:"change,omitempty"`
	// Return is the number of Stacks that exist, were gone, and would continue.
	// +optional
	Return int32 `json:"return,omitempty"`
	// Appear is the number of Stacks that would be created.
	// +optional
	Appear int32 `json:"appear,omitempty"`
	// Stacks are the first 20 of these, in the order of the numbers above.
	// +listType=atomic
	// +optional
	Stacks []PullRequestStackSetStack `json:"stacks,omitempty"`
}

// PullRequestStackSetStack is a Stack of a StackSet that a pull request would change.
type PullRequestStackSetStack struct {
	// Effect of the merge on the Stack.
	Effect StackSetEffect `json:"effect"`
	// Name of the Stack.
	Name string `json:"name"`
	// Directory of the Stack, at most 255 bytes. Unset if its item has none.
	// +optional
	Directory string `json:"directory,omitempty"`
	// Fields of the Stack that would change, at most 10. Example: [spec.source.git.path].
	// +listType=atomic
	// +optional
	Fields []string `json:"fields,omitempty"`
}

// StackSetEffect is what a merge does with a Stack of a StackSet.
//
// +kubebuilder:validation:Enum=Go;Change;Return;Appear
type StackSetEffect string

// Effects of a merge on a Stack of a StackSet.
const (
	// EffectGo: the StackSet would not generate it any more.
	EffectGo StackSetEffect = "Go"
	// EffectChange: its spec, labels or annotations would differ.
	EffectChange StackSetEffect = "Change"
	// EffectReturn: it exists, was gone, and would continue.
	EffectReturn StackSetEffect = "Return"
	// EffectAppear: it would be created.
	EffectAppear StackSetEffect = "Appear"
)

// PullRequestApply is what the affected Stacks did with the merge of a pull request.
type PullRequestApply struct {
	// FetchedAt is when Cairn first found the merge commit in the fetched base. Unset before that.
	// +optional
	FetchedAt *metav1.Time `json:"fetchedAt,omitempty"`
	// Stacks are those that the pull request affected when it was merged, by namespace and name. At most 500.
	// +listType=atomic
	// +optional
	Stacks []PullRequestStackApply `json:"stacks,omitempty"`
	// MoreStacks is the number of affected Stacks beyond these, of which the apply is not reported.
	// +optional
	MoreStacks int32 `json:"moreStacks,omitempty"`
}

// PullRequestStackApply is what a Stack did with the merge of a pull request.
type PullRequestStackApply struct {
	// Namespace of the Stack.
	Namespace string `json:"namespace"`
	// Name of the Stack.
	Name string `json:"name"`
	// Phase is what the Stack did with the merge.
	Phase StackApplyPhase `json:"phase"`
	// Run is the Run that applies the merge, or code that has it. Unset if there is none.
	// +optional
	Run string `json:"run,omitempty"`
	// Reason is the reason that the Run or the Stack reports. Example: AwaitingApproval.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason, at most 300 bytes.
	// +optional
	Message string `json:"message,omitempty"`
	// OpensAt is when the window opens that the Run waits for. Unset if it waits for none.
	// +optional
	OpensAt *metav1.Time `json:"opensAt,omitempty"`
	// Plan is the summary of the plan, without resources and findings of policies. Unset if it is not known.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// Approval is whose approval of the pull request counts for the plan, or why it does not. Unset if there was none.
	// Example: "the approval by gitea:git.example.com:bob does not count: the plan does something else".
	// +optional
	Approval string `json:"approval,omitempty"`
}

// StackApplyPhase is what a Stack did with the merge of a pull request.
//
// +kubebuilder:validation:Enum=Pending;Applying;AwaitingApproval;Waiting;Applied;Failed;Stopped;Superseded;Deleted
type StackApplyPhase string

// Phases of the apply of a merge. Applied and Deleted are final.
const (
	// StackApplyPending: it is not known yet whether the Stack has read the merge.
	StackApplyPending StackApplyPhase = "Pending"
	// StackApplyApplying: a Run with the merge is queued, plans, or applies.
	StackApplyApplying StackApplyPhase = "Applying"
	// StackApplyAwaitingApproval: the plan of a Run with the merge waits for an approval.
	StackApplyAwaitingApproval StackApplyPhase = "AwaitingApproval"
	// StackApplyWaiting: the Stack waits for a window, or for what the reason names.
	StackApplyWaiting StackApplyPhase = "Waiting"
	// StackApplyApplied: the merge is applied, or changes nothing.
	StackApplyApplied StackApplyPhase = "Applied"
	// StackApplyFailed: the Run with the merge failed, was canceled, or was rejected.
	StackApplyFailed StackApplyPhase = "Failed"
	// StackApplyStopped: no Run with the merge starts, for the reason that the Stack reports.
	StackApplyStopped StackApplyPhase = "Stopped"
	// StackApplySuperseded: the base does not have the merge commit any more.
	StackApplySuperseded StackApplyPhase = "Superseded"
	// StackApplyDeleted: the Stack was deleted.
	StackApplyDeleted StackApplyPhase = "Deleted"
)
