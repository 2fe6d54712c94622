package v1alpha1

// ConditionPullRequests of a Repository: the open pull requests were listed. Set only if spec.pullRequests is set.
const ConditionPullRequests = "PullRequests"

// Reasons of the condition PullRequests of a Repository, besides CredentialsNotFound and CredentialsInvalid.
const (
	// ReasonListed: the open pull requests are known.
	ReasonListed = "Listed"
	// ReasonProviderFailed: the Git provider denies the request or does not respond. The message has its response;
	// Cairn retries.
	ReasonProviderFailed = "ProviderFailed"
	// ReasonStatusContextInUse: another Repository reports on the same pull requests with the same statuses. Set
	// another spec.pullRequests.statusContext.
	ReasonStatusContextInUse = "StatusContextInUse"
)

// Reasons of the Ready condition of a PullRequest.
const (
	// ReasonMerging: the merge and the affected Stacks are not computed yet.
	ReasonMerging = "Merging"
	// ReasonMergeConflict: the head conflicts with the base. Resolve the conflicts and push.
	ReasonMergeConflict = "MergeConflict"
	// ReasonMergeFailed: the merge or the affected Stacks cannot be computed. The message describes the error.
	ReasonMergeFailed = "MergeFailed"
	// ReasonDraft: the pull request is a draft, and spec.pullRequests.drafts of the Repository is Skip.
	ReasonDraft = "Draft"
	// ReasonAwaitingCommand: nothing runs before a user with the verb plan comments /cairn plan.
	ReasonAwaitingCommand = "AwaitingCommand"
	// ReasonNotAffected: the pull request affects no Stack.
	ReasonNotAffected = "NotAffected"
	// ReasonBaseNotRead: no Stack reads the base of the pull request.
	ReasonBaseNotRead = "BaseNotRead"
	// ReasonChangesNotPlanned: nothing is planned, and the pull request adds code that no Stack reads, or changes
	// manifests of Cairn.
	ReasonChangesNotPlanned = "ChangesNotPlanned"
	// ReasonPullRequestPlanning: plans are in progress.
	ReasonPullRequestPlanning = "PlansInProgress"
	// ReasonPullRequestPlanFailed: a plan failed or a policy denied it, or a Stack is not planned.
	ReasonPullRequestPlanFailed = "PlansFailed"
	// ReasonStackSetFailed: a StackSet would write nothing after the merge. The message has its reason.
	ReasonStackSetFailed = "StackSetFailed"
	// ReasonPullRequestPlanned: all affected Stacks are planned.
	ReasonPullRequestPlanned = "PlansReady"
	// ReasonApplyFailed: a Stack failed to apply the merge, or stopped. The message has the numbers.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonClosed: the pull request is merged or closed.
	ReasonClosed = "Closed"
)

// pullRequestReasons describes the reasons of this file.
var pullRequestReasons = []Reason{
	{Name: ReasonListed, In: InOther},
	{Name: ReasonProviderFailed, In: InOther, Severity: SeverityError},
	{Name: ReasonStatusContextInUse, In: InOther, Severity: SeverityError},
	{Name: ReasonMerging, In: InPullRequest},
	{Name: ReasonMergeConflict, In: InPullRequest, Severity: SeverityError},
	{Name: ReasonMergeFailed, In: InPullRequest, Severity: SeverityError},
	{Name: ReasonDraft, In: InPullRequest},
	{Name: ReasonAwaitingCommand, In: InPullRequest},
	{Name: ReasonNotAffected, In: InPullRequest},
	{Name: ReasonPullRequestPlanning, In: InPullRequest},
	{Name: ReasonBaseNotRead, In: InPullRequest},
	{Name: ReasonChangesNotPlanned, In: InPullRequest, Severity: SeverityWarning},
	{Name: ReasonPullRequestPlanFailed, In: InPullRequest, Severity: SeverityError},
	{Name: ReasonStackSetFailed, In: InPullRequest, Severity: SeverityError},
	{Name: ReasonPullRequestPlanned, In: InPullRequest},
	{Name: ReasonApplyFailed, In: InPullRequest, Severity: SeverityError},
	{Name: ReasonClosed, In: InPullRequest},
}
