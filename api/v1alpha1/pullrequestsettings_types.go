package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PullRequests configures plans for the pull requests of a Repository.
//
// +kubebuilder:validation:XValidation:rule="!has(self.automaticMerge) || (has(self.apply) && self.apply == 'BeforeMerge')",message="automaticMerge requires apply: BeforeMerge"
// +kubebuilder:validation:XValidation:rule="!has(self.automaticMerge) || self.provider != 'Bitbucket'",message="automaticMerge is not supported for Bitbucket Cloud, which would also merge a commit that was pushed meanwhile"
// +kubebuilder:validation:XValidation:rule="!has(self.automaticMerge) || self.provider != 'GitLab' || self.automaticMerge.method != 'Rebase'",message="automaticMerge.method of GitLab is Merge or Squash: the project decides about Rebase"
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
	// RequireCommand requires a comment /cairn plan with the head commit, by a user with the verb plan, before each
	// head is planned, also if that user opened the pull request. Without it, a user who can push to a branch of the
	// repository can have code planned in the pull request of another user, since a Git provider does not prove who
	// wrote a commit. Default: false.
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
	// Repository or cluster plans pull requests of the same Git repository, since a commit has one status for each
	// name. Example: cairn-staging. Default: cairn.
	// +kubebuilder:default=cairn
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	StatusContext string `json:"statusContext,omitempty"`
	// Apply is AfterMerge, or BeforeMerge to let users with the verb apply on a Stack apply its plan by the comment
	// /cairn apply before the merge, with the credentials of the Stack. The Stack then has the code of the pull request
	// until that is merged or closed. Default: AfterMerge.
	// +kubebuilder:default=AfterMerge
	// +optional
	Apply ApplyWhen `json:"apply,omitempty"`
	// Requirements are what a pull request needs when /cairn apply would apply it before its merge. Approved: a review
	// of the head commit approves it, by another user than the one who opened it, and the Git provider requires no
	// other review. Mergeable: the Git provider would merge it now. Undiverged: no commit of the base that the head
	// lacks changes the code of the Stack. What cannot be read is not met. They are for commands, and have no effect on
	// a merge. Default: none.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +optional
	Requirements []Requirement `json:"requirements,omitempty"`
	// HoldTimeout is how long a pull request that is applied before its merge holds a Stack, from the command on. After
	// it, the Stack goes back to the base as after a close: by a plan that waits for an approval, and not before the
	// end of an apply in progress. A change is for later commands. At least 1m and at most 720h. Default: 72h.
	// +kubebuilder:default="72h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="at least 1m and at most 720h"
	// +optional
	HoldTimeout *metav1.Duration `json:"holdTimeout,omitempty"`
	// AutomaticMerge merges a pull request at the Git provider once each Stack that it changes is applied from its
	// newest head by /cairn apply, and no apply failed. Who may apply can then have it merged, within the rules of the
	// Git provider for the user of the token. Requires apply: BeforeMerge. Unset: a user merges. Example: {method:
	// Squash}.
	// +optional
	AutomaticMerge *AutomaticMerge `json:"automaticMerge,omitempty"`
	// CarryApproval lets an approval in the pull request count after the merge, if the plan there does the same. Unset:
	// plans are approved after the merge. Example: {from: [Commands, Reviews], maxAge: 24h}.
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
	// DestroyInputsDigest is the inputs digest of the last apply of the Stack, whose variables a plan of its
	// destruction uses. Set if the pull request deletes the directory of the Stack: the Run then plans the destruction.
	// +optional
	DestroyInputsDigest string `json:"destroyInputsDigest,omitempty"`
	// NewStack is true if a StackSet would create the Stack after the merge, so that it does not exist. The Run then
	// belongs to the PullRequest, and plans with an empty state. Default: false.
	// +optional
	NewStack bool `json:"newStack,omitempty"`
}

// ApprovalSource is a way to approve a plan in a pull request.
//
// +kubebuilder:validation:Enum=Commands;Reviews
type ApprovalSource string

// Ways to approve a plan in a pull request.
const (
	// ApprovalCommands: the comment /cairn approve.
	ApprovalCommands ApprovalSource = "Commands"
	// ApprovalReviews: a review at the Git provider.
	ApprovalReviews ApprovalSource = "Reviews"
)

// Accepts reports whether approvals of a source count. Those of none are by commands.
func (c *CarryApproval) Accepts(source ApprovalSource) bool {
	if source == "" {
		source = ApprovalCommands
	}
	return c != nil && (slices.Contains(c.From, source) || len(c.From) == 0 && source == ApprovalCommands)
}

// CarryApproval configures approvals in pull requests.
type CarryApproval struct {
	// From are the ways to approve. Commands are comments /cairn approve. Reviews are reviews at the Git provider: one
	// that approves the head counts for each plan of this head that the comment of Cairn had before the review, if the
	// user has the verb approve on Runs, and did not open the pull request. Default: [Commands].
	// +kubebuilder:default={Commands}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	From []ApprovalSource `json:"from,omitempty"`
	// MaxAge is how long an approval counts. At least 1m and at most 720h. Default: 24h.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="at least 1m and at most 720h"
	// +optional
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}
