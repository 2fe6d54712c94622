package v1alpha1

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Run is one operation of a Stack: a plan and, once it is approved, the apply of exactly that plan. Cairn creates
// Runs; users read and approve them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Stack",type=string,JSONPath=`.spec.stack.name`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.spec.operation`
// +kubebuilder:printcolumn:name="Cause",type=string,JSONPath=`.spec.cause.type`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Add",type=integer,JSONPath=`.status.plan.add`
// +kubebuilder:printcolumn:name="Change",type=integer,JSONPath=`.status.plan.change`
// +kubebuilder:printcolumn:name="Destroy",type=integer,JSONPath=`.status.plan.destroy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.approval) || (has(oldSelf.spec.approval) && self.spec.approval == oldSelf.spec.approval) || (has(self.status) && has(self.status.phase) && self.status.phase == 'AwaitingApproval')",messageExpression="'this Run is ' + (has(self.status) && has(self.status.phase) ? self.status.phase : 'Queued') + ' and does not wait for an approval'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.approval) || (has(oldSelf.spec.approval) && self.spec.approval == oldSelf.spec.approval) || (has(self.status) && has(self.status.plan) && self.spec.approval.planDigest == self.status.plan.digest)",message="spec.approval.planDigest is not the digest of this Run's plan (status.plan.digest): read the plan and approve that one"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.rejection) || (has(oldSelf.spec.rejection) && self.spec.rejection == oldSelf.spec.rejection) || (has(self.status) && has(self.status.phase) && self.status.phase == 'AwaitingApproval')",messageExpression="'this Run is ' + (has(self.status) && has(self.status.phase) ? self.status.phase : 'Queued') + ' and does not wait for an approval'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.rejection) || (has(oldSelf.spec.rejection) && self.spec.rejection == oldSelf.spec.rejection) || (has(self.status) && has(self.status.plan) && self.spec.rejection.planDigest == self.status.plan.digest)",message="spec.rejection.planDigest is not the digest of this Run's plan (status.plan.digest): read the plan and reject that one"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cancel) || !self.spec.cancel || (has(oldSelf.spec.cancel) && oldSelf.spec.cancel) || !has(self.status) || !has(self.status.phase) || !(self.status.phase in ['Succeeded', 'Failed', 'Canceled', 'Superseded'])",messageExpression="'this Run is ' + self.status.phase + ' already'"
type Run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the operation. It is immutable except for approval, rejection and cancel.
	Spec RunSpec `json:"spec"`
	// Status reports the progress of the Run. Its only condition is Reconciling until an operator reconciles
	// the Run.
	// +kubebuilder:default={"conditions":{{"type":"Reconciling","status":"True","reason":"Pending","message":"no operator has seen the Run yet","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	// +structType=atomic
	// +optional
	Status RunStatus `json:"status,omitempty"`
}

// RunList is a list of Runs.
//
// +kubebuilder:object:root=true
type RunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Run `json:"items"`
}

// The rules of RunSpec are for optional fields: the API server does not evaluate a transition rule of a field when the
// field is added or removed.

// RunSpec declares the operation of a Run.
//
// +kubebuilder:validation:XValidation:rule="has(self.revision) == has(oldSelf.revision) && (!has(self.revision) || self.revision == oldSelf.revision)",message="a Run's revision cannot change",fieldPath=".revision"
// +kubebuilder:validation:XValidation:rule="self.?preventSelfApproval.orValue(false) == oldSelf.?preventSelfApproval.orValue(false)",message="a Run's preventSelfApproval cannot change",fieldPath=".preventSelfApproval"
// +kubebuilder:validation:XValidation:rule="has(self.causedBy) == has(oldSelf.causedBy) && (!has(self.causedBy) || self.causedBy == oldSelf.causedBy)",message="a Run's causedBy cannot change",fieldPath=".causedBy"
// +kubebuilder:validation:XValidation:rule="has(self.causedByUnknown) == has(oldSelf.causedByUnknown) && (!has(self.causedByUnknown) || self.causedByUnknown == oldSelf.causedByUnknown)",message="a Run's causedByUnknown cannot change",fieldPath=".causedByUnknown"
// +kubebuilder:validation:XValidation:rule="has(self.selfApprovalRemovedBy) == has(oldSelf.selfApprovalRemovedBy) && (!has(self.selfApprovalRemovedBy) || self.selfApprovalRemovedBy == oldSelf.selfApprovalRemovedBy)",message="a Run's selfApprovalRemovedBy cannot change",fieldPath=".selfApprovalRemovedBy"
// +kubebuilder:validation:XValidation:rule="has(self.afterHold) == has(oldSelf.afterHold) && (!has(self.afterHold) || self.afterHold == oldSelf.afterHold)",message="a Run's afterHold cannot change",fieldPath=".afterHold"
// +kubebuilder:validation:XValidation:rule="has(self.planOptions) == has(oldSelf.planOptions) && (!has(self.planOptions) || self.planOptions == oldSelf.planOptions)",message="a Run's planOptions cannot change",fieldPath=".planOptions"
// +kubebuilder:validation:XValidation:rule="has(self.afterPartial) == has(oldSelf.afterPartial) && (!has(self.afterPartial) || self.afterPartial == oldSelf.afterPartial)",message="a Run's afterPartial cannot change",fieldPath=".afterPartial"
// +kubebuilder:validation:XValidation:rule="has(self.requirements) == has(oldSelf.requirements) && (!has(self.requirements) || self.requirements == oldSelf.requirements)",message="a Run's requirements cannot change",fieldPath=".requirements"
// +kubebuilder:validation:XValidation:rule="has(self.source) == has(oldSelf.source) && (!has(self.source) || self.source == oldSelf.source)",message="a Run's source cannot change",fieldPath=".source"
// +kubebuilder:validation:XValidation:rule="has(self.pullRequest) == has(oldSelf.pullRequest) && (!has(self.pullRequest) || self.pullRequest == oldSelf.pullRequest)",message="a Run's pullRequest cannot change",fieldPath=".pullRequest"
// +kubebuilder:validation:XValidation:rule="has(self.pullRequest) == (self.cause.type == 'PullRequest') && (!has(self.pullRequest) || self.operation == 'Plan')",message="a Run of a pull request has the cause PullRequest and the operation Plan",fieldPath=".pullRequest"
// +kubebuilder:validation:XValidation:rule="self.?cancel.orValue(false) || !oldSelf.?cancel.orValue(false)",message="cancel cannot be unset",fieldPath=".cancel"
type RunSpec struct {
	// Stack is the Stack of the Run, in the same namespace.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run cannot move to another Stack"
	Stack ObjectRef `json:"stack"`

	// Operation is what the Run does. Apply plans and applies. Plan only plans. Destroy plans the destruction
	// of all resources and applies that plan. Shell runs a pod in which a user can use the engine.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's operation cannot change"
	Operation Operation `json:"operation"`

	// Cause is the reason why the Run was created.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's cause cannot change"
	Cause Cause `json:"cause"`

	// InputsDigest is the digest of everything that decides the result: code, values and engine. It is
	// status.inputsDigest of the Stack at the time when the Run was created. For a destroy, it is the digest
	// of the last apply. Example: sha256:1f3c....
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's inputsDigest cannot change"
	InputsDigest string `json:"inputsDigest"`

	// Revision is the revision of the source, for display. Example: main@sha1:1f3c....
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Revision string `json:"revision,omitempty"`

	// Source is the source of the code at the time when the Run was created. Unset if the code is not from
	// git.
	// +optional
	Source *GitOrigin `json:"source,omitempty"`

	// PullRequest is the pull request whose merge result the Run plans. Such a Run is no part of the history of its
	// Stack, and applies nothing. Unset for other Runs.
	// +optional
	PullRequest *RunPullRequest `json:"pullRequest,omitempty"`

	// CausedBy are all users who caused what the Run applies: who changed the Stack, its Repository or its State since
	// the last apply, the authors and committers of the commits since then, and who requested the Run. At most 50.
	// Unset if no user caused it, or if an older release of Cairn created the Run.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	CausedBy []Contributor `json:"causedBy,omitempty"`

	// CausedByUnknown is why other users than those in causedBy may have caused the Run too. With preventSelfApproval,
	// an approval then requires that another user requested the Run. Unset if all users are known. Example: "commit
	// 1f3c2ab is not in the repository any more".
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	CausedByUnknown string `json:"causedByUnknown,omitempty"`

	// PreventSelfApproval rejects an approval by a user in cause.by or causedBy. It is true if
	// spec.preventSelfApproval of the Stack was true at the time when the Run was created, or if the State keeps
	// that rule. Default: false. Example: true.
	// +optional
	PreventSelfApproval bool `json:"preventSelfApproval,omitempty"`

	// SelfApprovalRemovedBy is the user who removed spec.preventSelfApproval from the Stack, or created the
	// Stack again without it. An approval by this user is rejected too. The apply of the plan ends the rule.
	// Unset if the Stack has the rule, or no rule applies. Example: alice@example.com.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SelfApprovalRemovedBy string `json:"selfApprovalRemovedBy,omitempty"`

	// AfterHold describes what the Stack had instead of the code of its source: a pull request that was applied before
	// its merge and was not merged, or the release of a Pipeline that does not select the Stack any more. The Run
	// leaves what that applied, so that its plan requires an approval. Unset if there is none. Example: pull request
	// 12, which was closed without a merge.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AfterHold string `json:"afterHold,omitempty"`

	// PlanOptions are options of the plan that a user requested. Such a plan always requires an approval. Unset for a
	// plan of all that is declared.
	// +optional
	PlanOptions *PlanOptions `json:"planOptions,omitempty"`

	// AfterPartial is the Run before this one, which applied a plan that did not have all changes of the code, or that
	// accepted drift. The plan of this Run has the rest, and requires an approval. Unset if there is none. Example:
	// net-7.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AfterPartial string `json:"afterPartial,omitempty"`

	// Requirements are what a pull request needs when the Run would apply it before its merge.
	// status.requirements has which of them are met. Unset if the Repository has none, or if the Run applies no pull
	// request. Example: {types: [Approved], pullRequest: {namespace: web, name: infra-12, number: 12}}.
	// +optional
	Requirements *RunRequirements `json:"requirements,omitempty"`

	// Approval approves the plan, so that Cairn applies it. It is valid for one plan only and requires the
	// verb approve on the Run. If unset, a plan that requires an approval is not applied.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// Rejection ends a Run that waits for an approval, without applying its plan. It requires the verb reject
	// on the Run.
	// +optional
	Rejection *Rejection `json:"rejection,omitempty"`

	// Cancel ends the Run. A Run that is queued or waits for an approval ends immediately. An engine in
	// progress is interrupted: it finishes the operations that it started and saves the state. It requires the
	// verb cancel on the Run and cannot be unset. Default: false.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// CanceledBy is the name of the user who canceled the Run. Example: alice@example.com.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CanceledBy string `json:"canceledBy,omitempty"`
}

// Operation is what a Run does.
//
// +kubebuilder:validation:Enum=Apply;Plan;Destroy;Shell
type Operation string

// Operations of a Run.
const (
	// OperationApply plans and applies.
	OperationApply Operation = "Apply"
	// OperationPlan only plans.
	OperationPlan Operation = "Plan"
	// OperationDestroy plans the destruction of all resources and applies that plan.
	OperationDestroy Operation = "Destroy"
	// OperationShell runs a pod in which a user can use the engine.
	OperationShell Operation = "Shell"
)

// CauseType is the type of event that caused a Run.
//
// +kubebuilder:validation:Enum=Spec;Variables;VariableSet;StackPolicy;Commit;Dependency;Drift;Deletion;Manual;PullRequest
type CauseType string

// Types of causes.
const (
	// CauseSpec: the Stack is new, or its spec or its code changed.
	CauseSpec CauseType = "Spec"
	// CauseVariables: a Secret or ConfigMap with values changed.
	CauseVariables CauseType = "Variables"
	// CauseVariableSet: a VariableSet or the labels of the Stack changed, or a Secret or ConfigMap that only
	// VariableSets name.
	CauseVariableSet CauseType = "VariableSet"
	// CauseStackPolicy: a StackPolicy changed the policies of the Stack, or the labels of the Stack did.
	CauseStackPolicy CauseType = "StackPolicy"
	// CauseCommit: a commit changed the code.
	CauseCommit CauseType = "Commit"
	// CauseDependency: an output of another Stack that this Stack uses changed.
	CauseDependency CauseType = "Dependency"
	// CauseDrift: a drift check is due, or a Run corrects drift.
	CauseDrift CauseType = "Drift"
	// CauseDeletion: the Stack is being deleted.
	CauseDeletion CauseType = "Deletion"
	// CauseManual: a user requested the Run.
	CauseManual CauseType = "Manual"
	// CausePullRequest: a pull request affects the Stack.
	CausePullRequest CauseType = "PullRequest"
)

// Cause is the reason why a Run was created.
type Cause struct {
	// Type is the type of the cause: Spec, Variables, Commit, Dependency, Drift, Deletion, Manual or PullRequest.
	Type CauseType `json:"type"`
	// Message describes the cause. Example: "Secret fleet-tfvars changed".
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Message string `json:"message,omitempty"`
	// By is the user who caused the Run: the author of the commit, the user who requested the Run or who
	// changed the Stack or its Repository. Unset if Cairn does not know the user. Example: alice@example.com.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	By string `json:"by,omitempty"`
}

// Approval approves one plan.
type Approval struct {
	// PlanDigest is status.plan.digest of the approved plan.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanDigest string `json:"planDigest"`
	// By is the name of the user who approves, as the API server authenticates it. Other names are rejected.
	// Example: alice@example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
}

// CarriedApproval is an approval of another plan that counts for the plan of a Run: in a pull request for the plan of
// its merge, or in the stage before of a Pipeline.
type CarriedApproval struct {
	// PlanDigest is status.plan.digest of the plan for which it counts.
	PlanDigest string `json:"planDigest"`
	// By is the user who approved, as the name of a user for RBAC. Example: gitea:git.example.com:bob.
	By string `json:"by"`
	// At is when Cairn read the approval.
	At metav1.Time `json:"at"`
	// PullRequest is the PullRequest in which the user approved. Unset if it was in a stage.
	// +optional
	PullRequest *CarriedFrom `json:"pullRequest,omitempty"`
	// Stage is the stage of a Pipeline in which the user approved. Unset if it was in a pull request.
	// +optional
	Stage *CarriedFromStage `json:"stage,omitempty"`
}

// Text names where the user approved: "in pull request 77", or "in stage staging of Pipeline shop (Run net-7)".
func (c *CarriedApproval) Text() string {
	switch {
	case c.PullRequest != nil:
		return fmt.Sprintf("in pull request %d", c.PullRequest.Number)
	case c.Stage != nil:
		return fmt.Sprintf("in stage %s of Pipeline %s (Run %s)", c.Stage.Name, c.Stage.Pipeline, c.Stage.Run)
	}
	return ""
}

// CarriedFromStage is a stage of a Pipeline in which a plan was approved.
type CarriedFromStage struct {
	// Pipeline is the name of the Pipeline, in the namespace of the Run.
	Pipeline string `json:"pipeline"`
	// Name of the stage.
	Name string `json:"name"`
	// Run is the name of the Run whose plan the user approved. Example: net-staging-7.
	Run string `json:"run"`
	// Release is the commit that the Run applied.
	Release string `json:"release"`
}

// CarriedFrom is a pull request in which a plan was approved.
type CarriedFrom struct {
	// Namespace of the PullRequest.
	Namespace string `json:"namespace"`
	// Name of the PullRequest.
	Name string `json:"name"`
	// Number of the pull request at the Git provider. Example: 77.
	Number int64 `json:"number"`
}

// Rejection rejects one plan and ends its Run.
type Rejection struct {
	// PlanDigest is status.plan.digest of the rejected plan.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanDigest string `json:"planDigest"`
	// By is the name of the user who rejects, as the API server authenticates it. Other names are rejected.
	// Example: alice@example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
	// Reason explains the rejection to other users. Example: "not on a Friday".
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RunPhase is the progress of a Run.
//
//	Queued ─► Planning ─► AwaitingApproval ─► Applying ─► Succeeded
//	   │         │ ▲  └────────────┼──────────────┤
//	   │         │ └── new attempt ┼──────────────┤
//	   ├─────────┴─────────────────┼──► Superseded├─► Failed
//	   └───────────────────────────┴──────────────┴─► Canceled
//
// With operation Shell, a Run goes from Queued to Shell, and from there to Succeeded, Failed or Canceled.
//
// +kubebuilder:validation:Enum=Queued;Planning;AwaitingApproval;Applying;Shell;Succeeded;Failed;Canceled;Superseded
type RunPhase string

// Phases of a Run. The last four are final.
const (
	// PhaseQueued: no pod was created yet.
	PhaseQueued RunPhase = "Queued"
	// PhasePlanning: a pod plans or builds the image, or the Run waits to retry the plan.
	PhasePlanning RunPhase = "Planning"
	// PhaseAwaitingApproval: the plan has changes and waits for an approval, or for a window to open.
	PhaseAwaitingApproval RunPhase = "AwaitingApproval"
	// PhaseApplying: a pod applies the plan.
	PhaseApplying RunPhase = "Applying"
	// PhaseShell: a pod runs a shell for a user, or prepares it.
	PhaseShell RunPhase = "Shell"
	// PhaseSucceeded: the operation succeeded.
	PhaseSucceeded RunPhase = "Succeeded"
	// PhaseFailed: the operation failed, and the Run does not retry it.
	PhaseFailed RunPhase = "Failed"
	// PhaseCanceled: a user canceled the Run or rejected its plan. An interrupted apply may have applied a
	// part of its plan.
	PhaseCanceled RunPhase = "Canceled"
	// PhaseSuperseded: a newer Run replaces this one. Nothing was applied.
	PhaseSuperseded RunPhase = "Superseded"
)

// Finished reports whether the phase is final.
func (p RunPhase) Finished() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCanceled || p == PhaseSuperseded
}

// RunStatus reports the progress of a Run.
type RunStatus struct {
	// Phase is the progress of the Run. Unset means Queued.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`

	// Conditions are the latest observations of the Run. Succeeded is Unknown until the Run finishes.
	// Reconciling is set until the Run finishes. Stalled is set if the Run failed or was canceled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Image is the image that Cairn built for this Run, or that an earlier Run built from the same files.
	// Unset if the Stack has no spec.runner.build.
	// +optional
	Image *BuiltImage `json:"image,omitempty"`

	// Plan is the newest plan of the Run. Unset until a plan succeeds.
	// +optional
	Plan *Plan `json:"plan,omitempty"`

	// Approval is the approval that the plan requires, as Cairn decided it. Set while the phase is AwaitingApproval
	// and something requires an approval.
	// +optional
	Approval *RunApproval `json:"approval,omitempty"`

	// CarriedApproval is the approval of a plan that does the same, in a pull request or in the stage before of a
	// Pipeline. Cairn writes it, and it counts like spec.approval for the plan that it names. Unset if there is none.
	// +optional
	CarriedApproval *CarriedApproval `json:"carriedApproval,omitempty"`

	// Requirements are those of spec.requirements, as Cairn evaluated them when the apply would start. As long as one
	// is not met, nothing is applied. Unset before.
	// +optional
	Requirements *EvaluatedRequirements `json:"requirements,omitempty"`

	// Attempts are the attempts of the Run, oldest first. The last one is the current attempt. At most 20:
	// older attempts are removed, except the newest one that may have changed resources.
	// +listType=map
	// +listMapKey=number
	// +optional
	Attempts []Attempt `json:"attempts,omitempty"`

	// NextAttempt is the time of the next attempt after a transient failure. Unset if no retry is scheduled.
	// +optional
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`

	// WindowOpensAt is when the window opens that the Run waits for. Unset if it waits for none, or if none opens
	// within a year.
	// +optional
	WindowOpensAt *metav1.Time `json:"windowOpensAt,omitempty"`

	// Retries is the number of attempts that followed a failed attempt.
	// +optional
	Retries int32 `json:"retries,omitempty"`

	// Outputs are the outputs after the apply, without sensitive and long ones. At most 64.
	// +optional
	Outputs map[string]apiextensionsv1.JSON `json:"outputs,omitempty"`

	// FinishedAt is the time when the Run reached its final phase. Unset while the Run is in progress.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// ApprovalState is what Cairn decided about the approval of a plan.
// +kubebuilder:validation:Enum=Pending;OtherPlan;SelfApproval;UnknownCause;Valid
type ApprovalState string

// The states of an approval.
const (
	// ApprovalPending: no user has approved the Run.
	ApprovalPending ApprovalState = "Pending"
	// ApprovalOtherPlan: the approval is for a plan that the Run no longer has.
	ApprovalOtherPlan ApprovalState = "OtherPlan"
	// ApprovalSelfApproval: a user who caused the Run, or removed spec.preventSelfApproval, approved it, and that rule
	// denies it.
	ApprovalSelfApproval ApprovalState = "SelfApproval"
	// ApprovalUnknownCause: not all users who caused the Run are known, and no user requested it, so who approved it
	// may be the only user who wants it.
	ApprovalUnknownCause ApprovalState = "UnknownCause"
	// ApprovalValid: the plan of the Run is approved.
	ApprovalValid ApprovalState = "Valid"
)

// ApprovalRule is a rule that requires an approval before a plan is applied.
type ApprovalRule string

// The rules that require an approval.
const (
	// RequiredByApply: spec.apply of the Stack is not Automatic.
	RequiredByApply ApprovalRule = "Apply"
	// RequiredBySelfApproval: the Run was created with spec.preventSelfApproval. A change of the Stack does not remove
	// it.
	RequiredBySelfApproval ApprovalRule = "SelfApproval"
	// RequiredByTakeover: the Stack never applied the State that has something to lose.
	RequiredByTakeover ApprovalRule = "Takeover"
	// RequiredByOrphans: the plan may create resources a second time.
	RequiredByOrphans ApprovalRule = "Orphans"
	// RequiredByChanges: the plan has a kind of change that spec.requireApprovalFor of the Stack lists.
	RequiredByChanges ApprovalRule = "Changes"
	// RequiredByDrift: the Run corrects drift, and the plan has a kind of change that spec.drift.applyFor of the Stack
	// does not list.
	RequiredByDrift ApprovalRule = "Drift"
	// RequiredByUnverified: only the engine can read what the plan changes.
	RequiredByUnverified ApprovalRule = "Unverified"
	// RequiredByPolicy: a policy requires an approval of this plan.
	RequiredByPolicy ApprovalRule = "Policy"
	// RequiredByAfterHold: the Run leaves what a pull request applied that was not merged, or the release of a Pipeline
	// that does not select the Stack any more.
	RequiredByAfterHold ApprovalRule = "AfterHold"
	// RequiredByPlanOptions: a user requested the plan with options, or the Run before applied a part of the changes.
	RequiredByPlanOptions ApprovalRule = "PlanOptions"
)

// RunApproval is the approval that the plan of a Run requires.
type RunApproval struct {
	// State is whether spec.approval counts: Pending if there is none. Of OtherPlan, SelfApproval and UnknownCause it
	// does not count, and another approval is required. Valid is set while an approved plan waits for something else.
	State ApprovalState `json:"state"`
	// RequiredBy are the rules that require the approval: Apply (spec.apply is not Automatic), SelfApproval, Takeover
	// (the Stack never applied the state), Orphans (the plan may create resources twice), Changes
	// (spec.requireApprovalFor), Unverified (Cairn cannot read the plan), Policy, AfterHold (spec.afterHold) and
	// PlanOptions (spec.planOptions or spec.afterPartial).
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	RequiredBy []ApprovalRule `json:"requiredBy,omitempty"`
	// PreventSelfApproval is true if an approval by a user who caused the Run does not count. The Run has the rule
	// since it was created, or the Stack has it now.
	// +optional
	PreventSelfApproval bool `json:"preventSelfApproval,omitempty"`
	// ExcludedUsers are the first 10 users whose approval does not count, as spec.causedBy names them. Example:
	// [alice].
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	ExcludedUsers []string `json:"excludedUsers,omitempty"`
	// RequestRequired is true if no approval counts, since not all users who caused the Run are known
	// (spec.causedByUnknown): a user has to request a Run, and another one to approve that.
	// +optional
	RequestRequired bool `json:"requestRequired,omitempty"`
}
