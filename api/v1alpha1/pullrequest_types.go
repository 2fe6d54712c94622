package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// MergeCommit is the ID of the commit of the base that has the pull request. Unset if it is not merged, or if the
	// Git provider does not report it.
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
	// PullRequestAwaitingCommand: it is from a fork, its author or the user of a commit does not have the verb plan on
	// any affected Stack, or spec.pullRequests.requireCommand of the Repository is true. Nothing runs before a user
	// with that verb comments /cairn plan with the head commit.
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
	// HeadSince is spec.updatedAt when that commit was first seen. Comments that are older than the first one are not
	// read.
	// +optional
	HeadSince metav1.Time `json:"headSince,omitempty"`
	// Merge is the merge that the status describes. Unset before the first merge.
	// +optional
	Merge *PullRequestMerge `json:"merge,omitempty"`
	// Stacks are the affected Stacks that are planned, by namespace and name.
	// +listType=atomic
	// +optional
	Stacks []PullRequestStack `json:"stacks,omitempty"`
	// Plans is the number of plans that were started. The names of their Runs depend on it, so that a Run that was
	// canceled is never used again.
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
	// Dependents are Stacks that the pull request does not affect, and that are planned after the merge because they
	// read outputs that its plans change, by namespace and name. At most 100.
	// +listType=atomic
	// +optional
	Dependents []PullRequestDependent `json:"dependents,omitempty"`
	// MoreDependents is the number of Stacks beyond these. It includes those in namespaces that may not use the
	// Repository, which are not named.
	// +optional
	MoreDependents int32 `json:"moreDependents,omitempty"`
	// Apply is what the affected Stacks did with the merge. Unset while the pull request is not merged, and if it
	// affected no Stack.
	// +optional
	Apply *PullRequestApply `json:"apply,omitempty"`
	// Requirements are those of the Repository for an apply before the merge, in the order of its list. Unset while the
	// pull request has no plan that a comment can apply.
	// +listType=atomic
	// +optional
	Requirements []PullRequestRequirement `json:"requirements,omitempty"`
	// Holds are the Stacks to which the pull request was applied before its merge, in the order of the first commands.
	// At most 500.
	// +listType=atomic
	// +optional
	Holds []PullRequestHold `json:"holds,omitempty"`
	// AutomaticMerge is the merge after the apply, if spec.pullRequests.automaticMerge of the Repository is set. Of a
	// pull request that is merged or closed, it is set only if Cairn requested the merge.
	// +optional
	AutomaticMerge *PullRequestAutomaticMerge `json:"automaticMerge,omitempty"`
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

// PullRequestDependent is a Stack that a merge changes through outputs of Stacks that the pull request affects.
type PullRequestDependent struct {
	// Namespace of the Stack.
	Namespace string `json:"namespace"`
	// Name of the Stack.
	Name string `json:"name"`
	// Possible is true if it is not known whether an output that the Stack reads changes: it depends on a Stack that is
	// planned after the merge too, or Cairn does not know the changes of all outputs.
	// +optional
	Possible bool `json:"possible,omitempty"`
	// Message is after which Stacks it is planned, and which outputs are the reason, at most 500 bytes. Example:
	// planned after staging/network is applied (vpc).
	Message string `json:"message"`
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
