package userapi

import "time"

// A Page is one page of a list, which the server has filtered and sorted.
type Page[R any] struct {
	// The rows of this page.
	Items []R `json:"items"`
	// The number of rows that match, on all pages.
	Total int `json:"total"`
	// The value of the parameter `after` for the next page. Absent on the last page.
	Next string `json:"next,omitempty"`
	// The values of the fields that the parameter `facet` requests.
	Facets []Facet `json:"facets,omitempty"`
	// The groups of this page in order, if the parameter `group` groups the list. They include collapsed groups.
	Groups []Group `json:"groups,omitempty"`
}

// A Facet has the most frequent values of a field, to filter by. It counts the rows that match the search and the
// filters of all other fields.
type Facet struct {
	// The field, which is also the parameter to filter by.
	Field string `json:"field"`
	// The most frequent values, in descending order of their number.
	Values []FacetValue `json:"values"`
	// The number of other values.
	More int `json:"more,omitempty"`
}

// A FacetValue is a value of a field.
type FacetValue struct {
	// The value. Of labels, it is key=value.
	Value string `json:"value"`
	// The number of rows with this value.
	Count int `json:"count"`
}

// A Group is the rows that have the same value of a field.
type Group struct {
	// The value. Empty for the rows that have none, which are last.
	Value string `json:"value"`
	// The number of matching rows in the group, on all pages.
	Count int `json:"count"`
	// The number of them whose ready is False.
	NotReady int `json:"notReady,omitempty"`
	// The number of its rows on this page: the next ones in items.
	Rows int `json:"rows"`
}

// An Object has the fields of all rows.
type Object struct {
	// The namespace of the object.
	Namespace string `json:"namespace"`
	// The name of the object.
	Name string `json:"name"`
	// The UID of the object.
	UID string `json:"uid"`
	// The time at which the object was created.
	Created time.Time `json:"created"`
}

// A Stack is a row of the list of Stacks.
type Stack struct {
	Object
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the status of Ready changed.
	Changed *time.Time `json:"changed,omitempty"`
	// Whether the Stack waits until a user acts.
	Stalled bool `json:"stalled"`
	// Whether Ready has the reason of an error, and not of progress or of a decision that a user takes.
	Failing bool `json:"failing"`
	// Whether drift is detected.
	Drifted bool `json:"drifted"`
	// Whether spec.suspend is true.
	Suspended bool `json:"suspended"`
	// Whether the Stack is being deleted.
	Deleted bool `json:"deleted"`
	// Whether all of its resources were destroyed on request. It then has no resources until a user requests an apply.
	Destroyed bool `json:"destroyed"`
	// The value of spec.apply: Automatic, Manual or Never.
	Apply string `json:"apply"`
	// The name of the engine.
	Engine string `json:"engine"`
	// The Repository with the code, as namespace/name. Absent if the code is not from git.
	Repository string `json:"repository,omitempty"`
	// The directory of the root module in the Repository.
	Path string `json:"path,omitempty"`
	// The StackSet that generates it; NAMESPACE/NAME for one of another namespace. Absent if there is none.
	StackSet string `json:"stackSet,omitempty"`
	// The revision of the code.
	Revision string `json:"revision,omitempty"`
	// The number of resources in the state.
	Resources int32 `json:"resources"`
	// The name of the Run in progress.
	Run string `json:"run,omitempty"`
	// The name of the newest Run.
	LastRun string `json:"lastRun,omitempty"`
	// What a retry requests. Absent if there is nothing to retry.
	Retry *Retry `json:"retry,omitempty"`
	// The names of the Stacks that this one depends on, as namespace/name for those of other namespaces.
	Uses []string `json:"uses,omitempty"`
	// The outputs of these Stacks that this one uses. A dependency that has none here is only the order.
	UsedOutputs []UsedOutput `json:"usedOutputs,omitempty"`
	// The labels as key=value, in order. At most 20, without those by which Helm, Flux and Argo CD recognize their
	// objects.
	Labels []string `json:"labels,omitempty"`
}

// A Retry is what a retry of a Stack requests.
type Retry struct {
	// Apply or Destroy.
	Operation string `json:"operation"`
	// The name of the Run that is repeated. Absent if a Stack without such a Run is being deleted.
	Run string `json:"run,omitempty"`
}

// A UsedOutput is an output of a Stack that another Stack uses.
type UsedOutput struct {
	// The name of the Stack that has the output.
	Stack string `json:"stack"`
	// The name of the output. Absent if it can be any of them, as with Terragrunt.
	Output string `json:"output,omitempty"`
	// The name of the variable that has the value of the output. Absent with Terragrunt.
	Variable string `json:"variable,omitempty"`
}

// A StackSet is a row of the list of StackSets.
type StackSet struct {
	Object
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the status of Ready changed.
	Changed *time.Time `json:"changed,omitempty"`
	// Whether the StackSet waits until a user acts.
	Stalled bool `json:"stalled"`
	// The value of spec.mode: Create or Preview.
	Mode string `json:"mode"`
	// The Repository whose directories are listed, as namespace/name. Absent if only lists generate Stacks.
	Repository string `json:"repository,omitempty"`
	// The ref and the commit whose directories were listed.
	Revision string `json:"revision,omitempty"`
	// The number of Stacks that the generators and the template result in.
	Generated int32 `json:"generated"`
	// The number of Stacks that have applied the inputs of the current template.
	Applied int32 `json:"applied"`
	// The number of Stacks that have the current template and have not applied it yet.
	Changing int32 `json:"changing"`
	// The number of Stacks that have an earlier template, or fields that differ from the template.
	Outdated int32 `json:"outdated"`
	// The number of Stacks of changing that failed.
	Failed int32 `json:"failed"`
	// The number of Stacks of the StackSet that are not generated any more.
	Gone int32 `json:"gone"`
	// The number of Stacks that wait for a user who confirms that they are deleted.
	AwaitingDeletions int32 `json:"awaitingDeletions"`
	// Whether the StackSet is being deleted.
	Deleted bool `json:"deleted"`
}

// A VariableSet is a row of the list of VariableSets.
type VariableSet struct {
	Object
	// The label selector of the Stacks, such as env=prod. Empty if it selects all Stacks of the namespace.
	Selector string `json:"selector"`
	// The names of the variables.
	Variables []string `json:"variables,omitempty"`
	// The names of the environment variables.
	Env []string `json:"env,omitempty"`
	// Whether the VariableSet is being deleted. Its values apply until it is gone.
	Deleted bool `json:"deleted"`
}

// A Notification is a row of the list of Notifications.
type Notification struct {
	Object
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the status of Ready changed.
	Changed *time.Time `json:"changed,omitempty"`
	// The format of the messages: Slack, Teams or Webhook.
	Destination string `json:"destination"`
	// The label selector of the Stacks, such as team=payments. Empty if it selects all Stacks.
	Selector string `json:"selector"`
	// What the messages are about, such as Failed.
	Events []string `json:"events"`
	// The number of events that the destination has a message about, and that are still true.
	Reported int `json:"reported"`
	// The time at which the destination accepted the last message.
	Sent *time.Time `json:"sent,omitempty"`
	// Whether nothing is sent because spec.suspend is true.
	Suspended bool `json:"suspended"`
	// Whether the Notification is being deleted.
	Deleted bool `json:"deleted"`
}

// A DriftPause is a row of the list of DriftPauses.
type DriftPause struct {
	Object
	// The status of the condition Ready: False while corrections of drift are paused, True, or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the pause began. Absent while corrections are not paused.
	Since *time.Time `json:"since,omitempty"`
	// The number of Stacks that began to drift within an hour, when the last pause began.
	Drifted int `json:"drifted"`
	// The number of Stacks that were checked for drift since that hour began.
	Checked int `json:"checked"`
}

// A Pipeline is a row of the list of Pipelines.
type Pipeline struct {
	Object
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the status of Ready changed.
	Changed *time.Time `json:"changed,omitempty"`
	// The name of the Repository whose commits are promoted.
	Repository string `json:"repository"`
	// The stages, in their order.
	Stages []PipelineStage `json:"stages"`
	// Whether the Pipeline is being deleted.
	Deleted bool `json:"deleted"`
}

// A PipelineStage is a stage of a Pipeline.
type PipelineStage struct {
	// The name of the stage.
	Name string `json:"name"`
	// What the stage does with its release: Waiting, Progressing, Failed, Verifying, Soaking or Complete.
	State string `json:"state"`
	// The commit that the stage has. Unset before the first one.
	Release string `json:"release,omitempty"`
	// The commit that the stage can get. Unset if there is none.
	Next string `json:"next,omitempty"`
}

// A StackPolicy is a row of the list of StackPolicies.
type StackPolicy struct {
	Object
	// The label selector of the Stacks, such as env=prod. Empty if it selects all Stacks of the namespace.
	Selector string `json:"selector"`
	// The number of windows.
	Windows int `json:"windows"`
	// The names of the ConfigMaps with policies.
	Policies []string `json:"policies,omitempty"`
	// Whether the StackPolicy is being deleted. It applies until it is gone.
	Deleted bool `json:"deleted"`
}

// A StackGrant is a row of the list of StackGrants.
type StackGrant struct {
	Object
	// Who can use the Stacks.
	From []GrantFrom `json:"from"`
	// The names of the Stacks. Absent for all Stacks of the namespace.
	Stacks []string `json:"stacks,omitempty"`
}

// A GrantFrom is the objects of a kind in a namespace.
type GrantFrom struct {
	// The kind of the objects.
	Kind string `json:"kind"`
	// The namespace of the objects.
	Namespace string `json:"namespace"`
}

// A Run is a row of the list of Runs.
type Run struct {
	Object
	// The name of the Stack.
	Stack string `json:"stack"`
	// The UID of the Stack. An earlier Stack of the name has another one. Absent if the Run has no owner.
	StackUID string `json:"stackUID,omitempty"`
	// Apply, Plan, Destroy or Shell.
	Operation string `json:"operation"`
	// The phase of the Run.
	Phase string `json:"phase"`
	// The reason of the condition Succeeded.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Succeeded.
	Message string `json:"message,omitempty"`
	// The cause of the Run.
	Cause Cause `json:"cause"`
	// The revision of the code.
	Revision string `json:"revision,omitempty"`
	// The number of attempts.
	Attempts int `json:"attempts"`
	// The number of changes in the plan. Absent before there is a plan.
	Plan *Counts `json:"plan,omitempty"`
	// The user who approved the plan.
	ApprovedBy string `json:"approvedBy,omitempty"`
	// The time at which the Run ended.
	Finished *time.Time `json:"finished,omitempty"`
	// The number of seconds that the Run waited between its plan and the apply, for an approval or a window, without
	// the current wait. They are not part of its duration.
	Waited int64 `json:"waited,omitempty"`
	// The time at which the current wait began. Absent if the Run does not wait for an approval or a window.
	WaitingSince *time.Time `json:"waitingSince,omitempty"`
}

// A Cause is the cause of a Run.
type Cause struct {
	// The type of the cause, as in spec.cause of the Run.
	Type string `json:"type"`
	// The cause as text.
	Message string `json:"message,omitempty"`
	// The user who caused the Run.
	By string `json:"by,omitempty"`
}

// Counts are the numbers of changes in a plan.
type Counts struct {
	// Whether the plan has changes.
	Changes bool `json:"changes"`
	// Whether only the state changes.
	StateOnly bool `json:"stateOnly,omitempty"`
	// The number of resources to create. Like the engine, it counts replacements too.
	Add int32 `json:"add"`
	// The number of resources to update.
	Change int32 `json:"change"`
	// The number of resources to destroy. Like the engine, it counts replacements too.
	Destroy int32 `json:"destroy"`
	// The number of replacements, which add and destroy count too.
	Replace int32 `json:"replace"`
	// The number of resources to import.
	Import int32 `json:"import"`
	// The number of resources to forget.
	Forget int32 `json:"forget"`
	// The number of actions of providers to invoke.
	Invoke int32 `json:"invoke,omitempty"`
	// The number of resources that changed outside of Cairn, and of which only the state is written.
	Refresh int32 `json:"refresh,omitempty"`
}

// A Repository is a row of the list of Repositories.
type Repository struct {
	Object
	// The URL of the repository.
	URL string `json:"url"`
	// The branch or tag of Stacks that set none.
	Ref string `json:"ref,omitempty"`
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// The time at which the status of Ready changed.
	Changed *time.Time `json:"changed,omitempty"`
	// The time of the last successful fetch.
	Fetched *time.Time `json:"fetched,omitempty"`
	// The branches, tags and commits that Stacks follow.
	Refs []Ref `json:"refs,omitempty"`
}

// A Ref is a branch, tag or commit that Stacks follow.
type Ref struct {
	// The name of the branch or tag, or the commit.
	Name string `json:"name"`
	// The revision to which it resolves now.
	Revision string `json:"revision,omitempty"`
}

// A PullRequest is a row of the list of PullRequests.
type PullRequest struct {
	Object
	// The name of the Repository, in the same namespace.
	Repository string `json:"repository"`
	// The number of the pull request at the Git provider.
	Number int64 `json:"number"`
	// The title, which its author chooses.
	Title string `json:"title,omitempty"`
	// The user who opened it, as the name of a user for RBAC. Absent if the login cannot be one.
	Author string `json:"author,omitempty"`
	// The URL of its page at the Git provider.
	URL string `json:"url,omitempty"`
	// Open, Merged or Closed.
	State string `json:"state"`
	// The phase of the PullRequest. Absent until an operator reconciles it.
	Phase string `json:"phase,omitempty"`
	// The status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// The reason of the condition Ready.
	Reason string `json:"reason,omitempty"`
	// The message of the condition Ready.
	Message string `json:"message,omitempty"`
	// Whether it is a draft.
	Draft bool `json:"draft"`
	// Whether its head is in another repository.
	Fork bool `json:"fork"`
	// The branch to merge into.
	Base string `json:"base"`
	// The branch to merge.
	Branch string `json:"branch,omitempty"`
	// The newest commit of the branch to merge.
	Commit string `json:"commit"`
	// The number of affected Stacks, including those that are not planned because of spec.pullRequests.maxStacks.
	Affected int `json:"affected"`
	// The number of Stacks whose plan succeeded.
	Planned int `json:"planned"`
	// The number of Stacks whose plan failed or was canceled, or could not start.
	Failed int `json:"failed"`
	// The number of Stacks whose plan has not finished or has not started.
	Pending int `json:"pending"`
	// The sums of the changes in all plans. Absent before there is a plan.
	Plan *Counts `json:"plan,omitempty"`
	// The time of the last update at the Git provider.
	Updated *time.Time `json:"updated,omitempty"`
	// Whether the PullRequest is being deleted.
	Deleted bool `json:"deleted"`

	// Stacks that it plans, as namespace/name. Rows are filtered by them; no response has them, because there can be
	// many.
	Stacks []string `json:"-"`
}

// A State is a row of the list of States.
type State struct {
	Object
	// The current version.
	Version int64 `json:"version"`
	// The serial of the current version, as the engine counts it.
	Serial int64 `json:"serial"`
	// The size of the current version in bytes.
	Size int64 `json:"size"`
	// The number of resource instances; -1 if the engine encrypts the state.
	Resources int32 `json:"resources"`
	// The SHA256 of the current version. Absent before the first one.
	SHA256 string `json:"sha256,omitempty"`
	// The Run that wrote the current version. Absent if a user wrote it.
	UpdatedBy string `json:"updatedBy,omitempty"`
	// The lock. Absent if the state is not locked.
	Lock *Lock `json:"lock,omitempty"`
	// Whether there is a rescued state: one that an apply could not save as a version.
	Rescued bool `json:"rescued"`
}

// A Resource is a row of the list of resources: an instance of a managed resource in the current version of a state.
type Resource struct {
	// The namespace of the Stack.
	Namespace string `json:"namespace"`
	// The name of the Stack, which is that of its State.
	Stack string `json:"stack"`
	// The address, as the engine writes it.
	Address string `json:"address"`
	// The type.
	Type string `json:"type"`
	// The address of the module. Absent in the root module.
	Module string `json:"module,omitempty"`
	// The source of the provider.
	Provider string `json:"provider,omitempty"`
	// The key of an object that was replaced and still has to be destroyed.
	Deposed string `json:"deposed,omitempty"`
	// Whether the next plan replaces it.
	Tainted bool `json:"tainted,omitempty"`
}

// Resources is a page of the list of resources.
type Resources struct {
	Page[Resource]
	// What the list lacks.
	Missing MissingResources `json:"missing"`
}

// MissingResources are the numbers of States whose resources are not listed, or not all of them.
type MissingResources struct {
	// States whose index is not read yet: repeat the request.
	Pending int `json:"pending,omitempty"`
	// States that the engine encrypts: their resources are not known.
	Encrypted int `json:"encrypted,omitempty"`
	// States that cannot be read.
	Unreadable int `json:"unreadable,omitempty"`
	// States for whose index the server has no memory left.
	Omitted int `json:"omitted,omitempty"`
	// States with more resources than an index has.
	Cut int `json:"cut,omitempty"`
}

// A Lock is the lock of a State.
type Lock struct {
	// The ID of the lock.
	ID string `json:"id"`
	// The Run that holds the lock.
	Run string `json:"run,omitempty"`
	// The user whose engine outside of the cluster holds the lock. Absent for a lock of a Run.
	By string `json:"by,omitempty"`
	// The holder as its engine reported it.
	Who string `json:"who,omitempty"`
	// The time at which the lock was acquired.
	Since time.Time `json:"since"`
}

// Change is a change of an object in a list.
type Change struct {
	// The kind of the object, for example Stack.
	Kind string `json:"kind"`
	// The namespace of the object.
	Namespace string `json:"namespace"`
	// The name of the object.
	Name string `json:"name"`
	// Whether the object was deleted. It was created or changed otherwise.
	Deleted bool `json:"deleted"`
}

// A Detail is an object with its row.
type Detail[R, O any] struct {
	// The row of the object in a list.
	Row R `json:"row"`
	// The object as in Kubernetes, without managed fields.
	Object O `json:"object"`
}

// Activity is the number of Runs that ended, in steps of time.
type Activity struct {
	// The duration of a step.
	Step string `json:"step"`
	// The steps, oldest first.
	Steps []ActivityStep `json:"steps"`
}

// ActivityStep is one step of an Activity.
type ActivityStep struct {
	// The time at which the step begins.
	From time.Time `json:"from"`
	// The number of Runs that succeeded.
	Succeeded int `json:"succeeded"`
	// The number of Runs that failed.
	Failed int `json:"failed"`
	// The number of Runs that were canceled, rejected or superseded.
	Others int `json:"others"`
}

// Me is the caller, as the server authenticated it.
type Me struct {
	// The name of the user.
	Name string `json:"name"`
	// The groups of the user.
	Groups []string `json:"groups"`
	// The user that impersonates. Absent without impersonation.
	Real string `json:"real,omitempty"`
}

// Build is the build of the server.
type Build struct {
	// The version of the server, as of cairn version.
	Version string `json:"version"`
}

// A Problem is the response to a request that failed, as in RFC 9457.
type Problem struct {
	// Always about:blank: the title is the meaning of the status.
	Type string `json:"type"`
	// The meaning of the status.
	Title string `json:"title"`
	// The HTTP status.
	Status int `json:"status"`
	// A sentence for the user.
	Detail string `json:"detail"`
	// The query parameter that the error is about.
	Parameter string `json:"parameter,omitempty"`
}

// A LogPiece is the next part of a log, in whole characters.
type LogPiece struct {
	// The text.
	Text string `json:"text"`
}
