package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PullRequest is a pull request (merge request) of a Repository, with the plans of the Stacks that it affects. Cairn
// creates it while the pull request is open, and deletes it 14 days after the merge; users read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn,shortName=pr
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository.name`
// +kubebuilder:printcolumn:name="Number",type=integer,JSONPath=`.spec.number`
// +kubebuilder:printcolumn:name="Author",type=string,JSONPath=`.spec.author`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type PullRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the pull request as the Git provider has it.
	Spec PullRequestSpec `json:"spec"`
	// Status reports the affected Stacks and their plans. observedGeneration is -1 until an operator reconciles the
	// PullRequest.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status PullRequestStatus `json:"status,omitempty"`
}

// PullRequestList is a list of PullRequests.
//
// +kubebuilder:object:root=true
type PullRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PullRequest `json:"items"`
}

// PullRequestSpec is a pull request as the Git provider has it.
type PullRequestSpec struct {
	// Repository is the Repository of the pull request, in the same namespace.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a PullRequest cannot move to another Repository"
	Repository ObjectRef `json:"repository"`
	// Number of the pull request at the Git provider. Example: 12.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the number of a PullRequest cannot change"
	Number int64 `json:"number"`
	// URL of the page of the pull request. Example: https://git.example.com/acme/infra/pulls/12.
	// +kubebuilder:validation:MaxLength=2000
	// +optional
	URL string `json:"url,omitempty"`
	// Title of the pull request, at most 255 characters. Its author chooses it.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Title string `json:"title,omitempty"`
	// Author is the user who opened it, as the name of a user for RBAC: <provider>:<host>:<login>. Empty if the login
	// cannot be one. Example: gitea:git.example.com:alice.
	// +kubebuilder:validation:MaxLength=600
	// +optional
	Author string `json:"author,omitempty"`
	// State is Open, Merged or Closed.
	State PullRequestState `json:"state"`
	// MergeCommit is the ID of the commit of the base that has the pull request. Unset if it is not merged, or if the Git
	// provider does not report it.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	// +optional
	MergeCommit string `json:"mergeCommit,omitempty"`
	// Draft reports whether the pull request is a draft.
	// +optional
	Draft bool `json:"draft,omitempty"`
	// Fork reports whether the head is in another repository.
	// +optional
	Fork bool `json:"fork,omitempty"`
	// Head is the branch to merge, and its newest commit.
	Head PullRequestHead `json:"head"`
	// Base is the branch to merge into. Example: main.
	// +kubebuilder:validation:MaxLength=255
	Base string `json:"base"`
	// UpdatedAt is the time of the last update at the Git provider, for example of a new comment.
	// +optional
	UpdatedAt metav1.Time `json:"updatedAt,omitempty"`
}

// PullRequestState is the state of a pull request at the Git provider.
//
// +kubebuilder:validation:Enum=Open;Merged;Closed
type PullRequestState string

// States of a pull request.
const (
	PullRequestOpen   PullRequestState = "Open"
	PullRequestMerged PullRequestState = "Merged"
	PullRequestClosed PullRequestState = "Closed"
)

// PullRequestHead is the head of a pull request.
type PullRequestHead struct {
	// Branch of the head, in the repository of the head. Example: wider-subnet.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Branch string `json:"branch,omitempty"`
	// Commit is the ID of the newest commit.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	Commit string `json:"commit"`
}

// PullRequestPhase is what Cairn does with a pull request.
//
// +kubebuilder:validation:Enum=Merging;Conflict;Failed;Draft;AwaitingCommand;Planned;Closed;Applying;Applied;ApplyFailed
type PullRequestPhase string

// Phases of a PullRequest.
const (
	// PullRequestMerging: the merge and the affected Stacks are not computed yet.
	PullRequestMerging PullRequestPhase = "Merging"
	// PullRequestConflict: the head does not merge into the base. Nothing is planned.
	PullRequestConflict PullRequestPhase = "Conflict"
	// PullRequestFailed: the merge or the affected Stacks cannot be computed.
	PullRequestFailed PullRequestPhase = "Failed"
	// PullRequestDraft: it is a draft, and drafts are not planned.
	PullRequestDraft PullRequestPhase = "Draft"
	// PullRequestAwaitingCommand: it is from a fork, its author or the user of a commit does not have the verb plan on any
	// affected Stack, or spec.pullRequests.requireCommand of the Repository is true. Nothing runs before a user with that
	// verb comments /cairn plan with the head commit.
	PullRequestAwaitingCommand PullRequestPhase = "AwaitingCommand"
	// PullRequestPlanned: the affected Stacks are known, and their plans are created.
	PullRequestPlanned PullRequestPhase = "Planned"
	// PullRequestEnded: it is merged or closed. Plans in progress end, and the others stay readable. The PullRequest is
	// deleted after 14 days.
	PullRequestEnded PullRequestPhase = "Closed"
	// PullRequestApplying: it is merged, and not all Stacks that it affects have applied the merge yet.
	PullRequestApplying PullRequestPhase = "Applying"
	// PullRequestApplied: it is merged, and the Stacks that it affects have applied the merge.
	PullRequestApplied PullRequestPhase = "Applied"
	// PullRequestApplyFailed: it is merged, and a Stack that it affects failed to apply the merge, or stopped.
	PullRequestApplyFailed PullRequestPhase = "ApplyFailed"
)

// Ended reports whether the pull request is merged or closed.
func (p PullRequestPhase) Ended() bool {
	return p == PullRequestEnded || p == PullRequestApplying || p == PullRequestApplied || p == PullRequestApplyFailed
}

// PullRequestStatus reports the affected Stacks of a pull request and their plans.
type PullRequestStatus struct {
	// Conditions are the latest observations. Ready is True if all affected Stacks are planned, and after the merge, if
	// they have applied it.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
	// PullRequest.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is what Cairn does with the pull request.
	// +optional
	Phase PullRequestPhase `json:"phase,omitempty"`
	// EndedAt is when Cairn detected that the pull request is merged or closed. Unset while it is open.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	// Head is the commit of the head that the status describes.
	// +optional
	Head string `json:"head,omitempty"`
	// HeadSince is spec.updatedAt when that commit was first seen. Comments that are older than the first one are not read.
	// +optional
	HeadSince metav1.Time `json:"headSince,omitempty"`
	// Merge is the merge that the status describes. Unset before the first merge.
	// +optional
	Merge *PullRequestMerge `json:"merge,omitempty"`
	// Stacks are the affected Stacks that are planned, by namespace and name.
	// +listType=atomic
	// +optional
	Stacks []PullRequestStack `json:"stacks,omitempty"`
	// Plans is the number of plans that were started. The names of their Runs depend on it, so that a Run that was canceled
	// is never used again.
	// +optional
	Plans int64 `json:"plans,omitempty"`
	// Skipped are affected Stacks beyond spec.pullRequests.maxStacks of the Repository that no comment has requested,
	// as namespace/name. At most 1,000.
	// +listType=atomic
	// +optional
	Skipped []string `json:"skipped,omitempty"`
	// StackSets are those whose lists of Stacks the merge changes, or cannot render: those with an error first, at most
	// 20. They are compared at the base and at the merge. Nothing is written to them or to their Stacks.
	// +listType=atomic
	// +optional
	StackSets []PullRequestStackSet `json:"stackSets,omitempty"`
	// MoreStackSets is the number of StackSets beyond these.
	// +optional
	MoreStackSets int32 `json:"moreStackSets,omitempty"`
	// Unplanned is what the merge changes and no plan shows. Unset if there is nothing.
	// +optional
	Unplanned *PullRequestUnplanned `json:"unplanned,omitempty"`
	// Apply is what the affected Stacks did with the merge. Unset while the pull request is not merged, and if it affected
	// no Stack.
	// +optional
	Apply *PullRequestApply `json:"apply,omitempty"`
	// Commands are the results of comments that are commands.
	// +optional
	Commands PullRequestCommands `json:"commands,omitempty"`
	// Delivered is what the Git provider has received.
	// +optional
	Delivered PullRequestDelivered `json:"delivered,omitempty"`
}

// PullRequestUnplanned is what the merge of a pull request changes and no plan shows, by path.
type PullRequestUnplanned struct {
	// Directories have code, had none before, and neither a Stack nor a StackSet reads them. At most 20.
	// +listType=atomic
	// +optional
	Directories []string `json:"directories,omitempty"`
	// Manifests are changed files with manifests of Cairn, which a GitOps tool or a user applies. At most 20.
	// +listType=atomic
	// +optional
	Manifests []string `json:"manifests,omitempty"`
	// MoreDirectories is the number of directories beyond these.
	// +optional
	MoreDirectories int32 `json:"moreDirectories,omitempty"`
	// MoreManifests is the number of files beyond these.
	// +optional
	MoreManifests int32 `json:"moreManifests,omitempty"`
}

// PullRequestMerge is a merge of the head of a pull request into its base.
type PullRequestMerge struct {
	// Head is the commit of the head.
	Head string `json:"head"`
	// Base is the commit of the base.
	Base string `json:"base"`
	// Tree is the ID of the merged tree. Unset if there are conflicts.
	// +optional
	Tree string `json:"tree,omitempty"`
	// Conflicts are the paths that conflict, at most 100.
	// +listType=atomic
	// +optional
	Conflicts []string `json:"conflicts,omitempty"`
}

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
	// Plan is the summary of the plan, without resources, and with at most 5 findings of policies. Unset until the plan
	// succeeds.
	// +optional
	Plan *Plan `json:"plan,omitempty"`
	// Message is why there is no plan, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// Backend is the type of the engine's backend that has the state. The plan gets Cairn's copy of the state, which the
	// last Run of the Stack read: it does not show what users changed there since. Unset if Cairn keeps the state.
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
	// UnappliedRun is the Run of the Stack with changes of the base that were not applied when the plan ended, so that the
	// plan includes them. Unset if there was none. Example: net-2.
	// +optional
	UnappliedRun string `json:"unappliedRun,omitempty"`
	// OnMerge is what the Stack does when the pull request is merged. Unset while it is not known.
	// +optional
	OnMerge *StackOnMerge `json:"onMerge,omitempty"`
	// Retries is the number of comments that requested another plan of the same inputs.
	// +optional
	Retries int32 `json:"retries,omitempty"`
	// Approval is the approval of the plan by a comment. Unset if there is none.
	// +optional
	Approval *PullRequestApproval `json:"approval,omitempty"`
}

// PullRequestApproval is the approval of a plan by a comment of a pull request.
type PullRequestApproval struct {
	// By is the user who approved, as the name of a user for RBAC. Example: gitea:git.example.com:bob.
	By string `json:"by"`
	// At is when Cairn read the comment.
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
	// Void is why the approval does not count any more. Unset while it counts. Example: the plan does something else now.
	// +optional
	Void string `json:"void,omitempty"`
}

// StackOnMerge is what a Stack does when a pull request is merged, by the spec of the Stack and the plan of the pull
// request. The Run after the merge decides by its own plan.
type StackOnMerge struct {
	// Action is what follows the merge.
	Action StackMergeAction `json:"action"`
	// Rules are those that require an approval. Empty unless the action is AwaitApproval.
	// +listType=atomic
	// +optional
	Rules []ApprovalRule `json:"rules,omitempty"`
	// Message explains the action, at most 500 bytes. Example: spec.requireApprovalFor of the Stack lists Delete.
	// +optional
	Message string `json:"message,omitempty"`
}

// StackMergeAction is what a Stack does when a pull request is merged.
//
// +kubebuilder:validation:Enum=Apply;AwaitApproval;Nothing;Stop;Move
type StackMergeAction string

// What a Stack does when a pull request is merged.
const (
	// StackMergeApply: the plan is applied without an approval.
	StackMergeApply StackMergeAction = "Apply"
	// StackMergeAwaitApproval: the plan waits for an approval.
	StackMergeAwaitApproval StackMergeAction = "AwaitApproval"
	// StackMergeNothing: the plan has no changes.
	StackMergeNothing StackMergeAction = "Nothing"
	// StackMergeStop: nothing is applied and nothing is destroyed, for example since the directory of the Stack is gone.
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
	return "approved by " + a.By
}

// PullRequestStackSet is a StackSet whose list of Stacks a pull request changes.
type PullRequestStackSet struct {
	// Namespace of the StackSet and of its Stacks.
	Namespace string `json:"namespace"`
	// Name of the StackSet.
	Name string `json:"name"`
	// Reason is the reason that the StackSet would have after the merge if it then wrote nothing. The status of the pull
	// request fails. Unset if it would write, or if it has the same error without the merge. Example: RenderingFailed.
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

// PullRequestCommands are the results of comments that are commands.
type PullRequestCommands struct {
	// LastComment is the ID of the last comment that was read.
	// +optional
	LastComment int64 `json:"lastComment,omitempty"`
	// ReadAt is spec.updatedAt when comments were read last.
	// +optional
	ReadAt metav1.Time `json:"readAt,omitempty"`
	// AllowedHead is the head commit whose plans a user allowed by a comment. Other heads need another comment.
	// +optional
	AllowedHead string `json:"allowedHead,omitempty"`
	// AllowedBy is the user who allowed it last. Example: gitea:git.example.com:alice.
	// +optional
	AllowedBy string `json:"allowedBy,omitempty"`
	// Allowances are what users allowed of the plans of that head commit, at most 50.
	// +listType=atomic
	// +optional
	Allowances []PullRequestAllowance `json:"allowances,omitempty"`
	// Requested are Stacks that comments name, as namespace/name. They are planned also beyond maxStacks.
	// +listType=atomic
	// +optional
	Requested []string `json:"requested,omitempty"`
	// Answer is the result of the last command.
	// +optional
	Answer string `json:"answer,omitempty"`
}

// PullRequestAllowance is what a user allowed of the plans of a head commit. It counts for Stacks on which the user has
// the verb plan.
type PullRequestAllowance struct {
	// By is the user. Example: gitea:git.example.com:alice.
	By string `json:"by"`
	// Stacks that the command names, as namespace/name. Empty if it names none, for all.
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`
}

// PullRequestDelivered is what the Git provider has received of Cairn. What differs from it is sent again.
type PullRequestDelivered struct {
	// Failure is why the last request to the Git provider failed. Cairn retries it. Unset if none failed.
	// +optional
	Failure string `json:"failure,omitempty"`
	// Comment is the ID of the comment. 0 before there is one.
	// +optional
	Comment int64 `json:"comment,omitempty"`
	// CommentDigest is the digest of what it reports.
	// +optional
	CommentDigest string `json:"commentDigest,omitempty"`
	// Result is the comment with the result of the apply. Unset before there is one.
	// +optional
	Result *PullRequestComment `json:"result,omitempty"`
	// Apply is the status of the merge commit. Unset before there is one.
	// +optional
	Apply *PullRequestCommitStatus `json:"apply,omitempty"`
	// Head is the commit that has the statuses.
	// +optional
	Head string `json:"head,omitempty"`
	// Shared is the digest of the statuses of other pull requests with the same head. Unset if there are none.
	// +optional
	Shared string `json:"shared,omitempty"`
	// Statuses of the head, by context.
	// +listType=map
	// +listMapKey=context
	// +optional
	Statuses []PullRequestCommitStatus `json:"statuses,omitempty"`
}

// PullRequestComment is a comment of Cairn.
type PullRequestComment struct {
	// ID of the comment. Unset before it is written.
	// +optional
	ID int64 `json:"id,omitempty"`
	// Digest of what it reports. Unset before it is written.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// PullRequestCommitStatus is a status of the head commit, or of the merge commit.
type PullRequestCommitStatus struct {
	// Context of the status. Example: cairn/prod/net.
	Context string `json:"context"`
	// Pending reports whether its state is pending.
	// +optional
	Pending bool `json:"pending,omitempty"`
	// Digest of its state, description and URL. Empty before it is sent.
	Digest string `json:"digest"`
}

// PullRequests configures plans for the pull requests of a Repository.
type PullRequests struct {
	// Provider is the Git provider.
	Provider GitProvider `json:"provider"`
	// URL of the Git provider. Default: the scheme and host of spec.url, if that is http or https. Example:
	// https://git.example.com.
	// +kubebuilder:validation:MaxLength=2000
	// +kubebuilder:validation:Pattern=`^https?://[^/@]+(/[^?#]*)?$`
	// +optional
	URL string `json:"url,omitempty"`
	// Credentials is a Secret with the key token: a token of the Git provider that can read pull requests, and write
	// comments and commit statuses. Comments are of the user of this token. For an App of GitHub, the keys are
	// githubAppID, githubAppInstallationID and githubAppPrivateKey. The key ca.crt adds a certificate authority for its
	// API; without it, that of spec.credentials applies. Example: {secret: {name: infra-pulls}}.
	Credentials SecretSource `json:"credentials"`
	// Interval is the time between two requests for the open pull requests. Webhooks trigger additional ones. At least
	// 1s and at most 24h. Default: 1m.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="at least 1s and at most 24h"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Drafts is Plan to plan drafts, or Skip. Default: Skip.
	// +kubebuilder:default=Skip
	// +optional
	Drafts Drafts `json:"drafts,omitempty"`
	// RequireCommand requires a comment /cairn plan with the head commit, by a user with the verb plan, before each head
	// is planned, also if that user opened the pull request. Without it, a user who can push to a branch of the
	// repository can have code planned in the pull request of another user, since a Git provider does not prove who wrote
	// a commit. Default: false.
	// +optional
	RequireCommand bool `json:"requireCommand,omitempty"`
	// MaxStacks is the maximum number of Stacks that a pull request plans without a comment that names them. At most
	// 200. Default: 50.
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	// +optional
	MaxStacks *int32 `json:"maxStacks,omitempty"`
	// StatusContext is the name of the aggregate commit status, and begins those of Stacks. Set another one if a second
	// Repository or cluster plans pull requests of the same Git repository, since a commit has one status for each name.
	// Example: cairn-staging. Default: cairn.
	// +kubebuilder:default=cairn
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	StatusContext string `json:"statusContext,omitempty"`
	// CarryApproval lets an approval by the comment /cairn approve count after the merge, if the plan there does the same.
	// Unset: plans are approved after the merge. Example: {maxAge: 24h}.
	// +optional
	CarryApproval *CarryApproval `json:"carryApproval,omitempty"`
	// Runner is the default of spec.pullRequests.runner for Stacks in the namespace of the Repository.
	// +optional
	Runner *PullRequestRunner `json:"runner,omitempty"`
}

// GitProvider is the type of a Git provider. Bitbucket is Bitbucket Cloud, whose forks cannot be planned.
//
// +kubebuilder:validation:Enum=Gitea;Forgejo;GitHub;GitLab;Bitbucket;BitbucketDataCenter
type GitProvider string

// Git providers.
const (
	GitProviderGitea               GitProvider = "Gitea"
	GitProviderForgejo             GitProvider = "Forgejo"
	GitProviderGitHub              GitProvider = "GitHub"
	GitProviderGitLab              GitProvider = "GitLab"
	GitProviderBitbucket           GitProvider = "Bitbucket"
	GitProviderBitbucketDataCenter GitProvider = "BitbucketDataCenter"
)

// Drafts is what to do with pull requests that are drafts.
//
// +kubebuilder:validation:Enum=Plan;Skip
type Drafts string

// What to do with drafts.
const (
	DraftsPlan Drafts = "Plan"
	DraftsSkip Drafts = "Skip"
)

// PullRequestRunner is the identity of pods that plan pull requests. A plan executes code of the pull request, so that
// its author can read what these pods can.
type PullRequestRunner struct {
	// ServiceAccountName is the ServiceAccount of the pod, in the namespace of the Stack. Default: default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Env are environment variables of the engine, in place of spec.env of the Stack. Names that start with CAIRN_ are
	// reserved and rejected, and so are resourceFieldRef and fileKeyRef. At most 200.
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.startsWith('CAIRN_'))",message="names that start with CAIRN_ are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || (!has(e.valueFrom.resourceFieldRef) && !has(e.valueFrom.fileKeyRef)))",message="resourceFieldRef and fileKeyRef are not supported"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom are Secrets and ConfigMaps with environment variables of the engine, in place of spec.envFrom of the
	// Stack. At most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
}

// StackPullRequests configures the plans of a Stack for pull requests.
//
// +kubebuilder:validation:XValidation:rule="!has(self.runner) || !has(self.useStackCredentials) || !self.useStackCredentials",message="runner and useStackCredentials are mutually exclusive"
type StackPullRequests struct {
	// Runner is the identity of pods that plan pull requests. Default: spec.pullRequests.runner of the Repository, if
	// the Stack is in the same namespace; otherwise the ServiceAccount default and no environment variables.
	// +optional
	Runner *PullRequestRunner `json:"runner,omitempty"`
	// UseStackCredentials plans pull requests with spec.runner, spec.env and spec.envFrom of the Stack, as its own Runs
	// are planned, but without spec.backend. Each user who can open a pull request in the repository can then use these
	// credentials. Default: false.
	// +optional
	UseStackCredentials bool `json:"useStackCredentials,omitempty"`
}

// RunPullRequest is the pull request that a Run plans.
//
// +kubebuilder:validation:XValidation:rule="!self.?newStack.orValue(false) || !has(self.destroyInputsDigest)",message="a Stack that does not exist has nothing to destroy"
type RunPullRequest struct {
	// Namespace of the PullRequest.
	Namespace string `json:"namespace"`
	// Name of the PullRequest.
	Name string `json:"name"`
	// UID of the PullRequest.
	UID types.UID `json:"uid"`
	// PlanNumber is the number of the plan among those of the PullRequest.
	// +optional
	PlanNumber int64 `json:"planNumber,omitempty"`
	// DestroyInputsDigest is the inputs digest of the last apply of the Stack, whose variables a plan of its destruction
	// uses. Set if the pull request deletes the directory of the Stack: the Run then plans the destruction.
	// +optional
	DestroyInputsDigest string `json:"destroyInputsDigest,omitempty"`
	// NewStack is true if a StackSet would create the Stack after the merge, so that it does not exist. The Run then
	// belongs to the PullRequest, and plans with an empty state. Default: false.
	// +optional
	NewStack bool `json:"newStack,omitempty"`
}

// CarryApproval configures approvals in pull requests.
type CarryApproval struct {
	// MaxAge is how long an approval counts. At least 1m and at most 720h. Default: 24h.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="at least 1m and at most 720h"
	// +optional
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}
