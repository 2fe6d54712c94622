package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Run is one plan of a Stack and, if it is approved, the apply of exactly that plan. Cairn makes Runs; people read
// them and approve them.
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
// +kubebuilder:validation:XValidation:rule="!has(self.spec.approval) || (has(oldSelf.spec.approval) && self.spec.approval == oldSelf.spec.approval) || (has(self.status) && has(self.status.phase) && self.status.phase == 'AwaitingApproval')",messageExpression="'this Run is ' + (has(self.status) && has(self.status.phase) ? self.status.phase : 'Queued') + ' and waits for no approval'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.approval) || (has(oldSelf.spec.approval) && self.spec.approval == oldSelf.spec.approval) || (has(self.status) && has(self.status.plan) && self.spec.approval.planDigest == self.status.plan.digest)",message="spec.approval.planDigest is not the digest of this Run's plan (status.plan.digest): read the plan and approve that one"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.rejection) || (has(oldSelf.spec.rejection) && self.spec.rejection == oldSelf.spec.rejection) || (has(self.status) && has(self.status.phase) && self.status.phase == 'AwaitingApproval')",messageExpression="'this Run is ' + (has(self.status) && has(self.status.phase) ? self.status.phase : 'Queued') + ' and has no plan that could be rejected'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.rejection) || (has(oldSelf.spec.rejection) && self.spec.rejection == oldSelf.spec.rejection) || (has(self.status) && has(self.status.plan) && self.spec.rejection.planDigest == self.status.plan.digest)",message="spec.rejection.planDigest is not the digest of this Run's plan (status.plan.digest): read the plan and reject that one"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cancel) || !self.spec.cancel || (has(oldSelf.spec.cancel) && oldSelf.spec.cancel) || !has(self.status) || !has(self.status.phase) || !(self.status.phase in ['Succeeded', 'Failed', 'Canceled', 'Superseded'])",messageExpression="'this Run is ' + self.status.phase + ' already'"
type Run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to do. It never changes, but for the approval.
	Spec RunSpec `json:"spec"`
	// Status says how far it is. Before an operator has seen the Run, it has the condition Reconciling.
	// +kubebuilder:default={"conditions":{{"type":"Reconciling","status":"True","reason":"Pending","message":"no operator has seen the Run yet","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
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

// RunSpec says what a Run does. The rules here are about fields that may be missing: what is said of a field itself does not count when it comes or goes.
//
// +kubebuilder:validation:XValidation:rule="has(self.revision) == has(oldSelf.revision) && (!has(self.revision) || self.revision == oldSelf.revision)",message="a Run's revision cannot change",fieldPath=".revision"
// +kubebuilder:validation:XValidation:rule="self.?preventSelfApproval.orValue(false) == oldSelf.?preventSelfApproval.orValue(false)",message="a Run's preventSelfApproval cannot change",fieldPath=".preventSelfApproval"
// +kubebuilder:validation:XValidation:rule="self.?cancel.orValue(false) || !oldSelf.?cancel.orValue(false)",message="a Run that was canceled stays canceled",fieldPath=".cancel"
type RunSpec struct {
	// Stack that the Run is of, in the same namespace.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run cannot move to another Stack"
	Stack ObjectRef `json:"stack"`

	// Operation: Apply plans and applies, Plan only plans, Destroy plans the end of everything and applies that, Shell holds a
	// pod for a person to work in.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's operation cannot change"
	Operation Operation `json:"operation"`

	// Cause says why there is this Run.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's cause cannot change"
	Cause Cause `json:"cause"`

	// InputsDigest is the digest of everything that decides the result: the code, the values and the engine. It is status.inputsDigest of
	// the Stack when the Run was created, or for a destroy that of the last apply. Example: sha256:1f3c....
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Run's inputsDigest cannot change"
	InputsDigest string `json:"inputsDigest"`

	// Revision names the source among the inputs, for people.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Revision string `json:"revision,omitempty"`

	// PreventSelfApproval rejects an approval by cause.by. It is spec.preventSelfApproval of the Stack when the Run was created.
	// Default: false. Example: true.
	// +optional
	PreventSelfApproval bool `json:"preventSelfApproval,omitempty"`

	// Approval is written by the person who read the plan. It fits exactly one plan, and takes the verb approve on this Run.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// Rejection ends a Run that waits for an approval: nothing is applied. It takes the verb reject on this Run.
	// +optional
	Rejection *Rejection `json:"rejection,omitempty"`

	// Cancel ends the Run. What is queued or waits for an approval ends at once; an engine at work is interrupted, finishes
	// what it has in flight and saves the state. It takes the verb cancel on this Run, and cannot be taken back.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// CanceledBy is who cancels.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CanceledBy string `json:"canceledBy,omitempty"`
}

// Operation is what a Run does.
//
// +kubebuilder:validation:Enum=Apply;Plan;Destroy;Shell
type Operation string

// What a Run does.
const (
	OperationApply   Operation = "Apply"
	OperationPlan    Operation = "Plan"
	OperationDestroy Operation = "Destroy"
	OperationShell   Operation = "Shell"
)

// CauseType is the kind of reason for a Run.
//
// +kubebuilder:validation:Enum=Spec;Variables;Commit;Dependency;Drift;Deletion;Manual
type CauseType string

// Why there is a Run.
const (
	// CauseSpec: the Stack is new, or its spec or its code changed.
	CauseSpec CauseType = "Spec"
	// CauseVariables: a Secret or ConfigMap that holds values changed.
	CauseVariables CauseType = "Variables"
	// CauseCommit: a commit changed the code.
	CauseCommit CauseType = "Commit"
	// CauseDependency: an output of another Stack changed that this one uses.
	CauseDependency CauseType = "Dependency"
	// CauseDrift: it is time to look for drift, or drift is to be put right.
	CauseDrift CauseType = "Drift"
	// CauseDeletion: the Stack is being deleted.
	CauseDeletion CauseType = "Deletion"
	// CauseManual: somebody asked for it.
	CauseManual CauseType = "Manual"
)

// Cause says why there is a Run.
type Cause struct {
	// Type of the cause.
	Type CauseType `json:"type"`
	// Message for a person. Example: "Secret fleet-tfvars changed".
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Message string `json:"message,omitempty"`
	// By is who caused it, where that is known: the author of a commit, who asked for the Run, who changed the Stack.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	By string `json:"by,omitempty"`
}

// Approval lets the apply of one plan begin.
type Approval struct {
	// PlanDigest is status.plan.digest of the plan that was read.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanDigest string `json:"planDigest"`
	// By is who approves: the name under which the API server knows who writes this, and no other.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
}

// Rejection ends a Run whose plan is not wanted.
type Rejection struct {
	// PlanDigest is status.plan.digest of the plan that was read.
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanDigest string `json:"planDigest"`
	// By is who rejects: the name under which the API server knows who writes this, and no other.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
	// Reason for those who wanted the change. Example: "not on a Friday".
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RunPhase is how far a Run is.
//
//	Queued ─► Planning ─► AwaitingApproval ─► Applying ─► Succeeded
//	   │         │ ▲  └────────────┼──────────────┤
//	   │         │ └── new attempt ┼──────────────┤
//	   ├─────────┴─────────────────┼──► Superseded├─► Failed
//	   └───────────────────────────┴──────────────┴─► Canceled
//
// With operation Shell it goes from Queued to Shell, and from there to Succeeded, Failed or Canceled.
//
// +kubebuilder:validation:Enum=Queued;Planning;AwaitingApproval;Applying;Shell;Succeeded;Failed;Canceled;Superseded
type RunPhase string

// How far a Run is. The last four are final.
const (
	// PhaseQueued: no pod was made yet.
	PhaseQueued RunPhase = "Queued"
	// PhasePlanning: a pod makes the plan, or builds the image for it, or the next try at one is waited for.
	PhasePlanning RunPhase = "Planning"
	// PhaseAwaitingApproval: the plan has changes and waits: for a person to approve it, or for a window to open.
	PhaseAwaitingApproval RunPhase = "AwaitingApproval"
	// PhaseApplying: a pod applies the plan.
	PhaseApplying RunPhase = "Applying"
	// PhaseShell: a pod holds a shell for a person, or makes ready for it.
	PhaseShell RunPhase = "Shell"
	// PhaseSucceeded: what was to be done is done.
	PhaseSucceeded RunPhase = "Succeeded"
	// PhaseFailed: it was not done, and this Run will not try again.
	PhaseFailed RunPhase = "Failed"
	// PhaseCanceled: somebody canceled it, or rejected its plan. An apply that was interrupted has done a part of its plan.
	PhaseCanceled RunPhase = "Canceled"
	// PhaseSuperseded: a newer Run takes its place; nothing was applied.
	PhaseSuperseded RunPhase = "Superseded"
)

// Finished says that the phase is final.
func (p RunPhase) Finished() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCanceled || p == PhaseSuperseded
}

// RunStatus says how far a Run is.
type RunStatus struct {
	// Phase; empty means Queued.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`

	// Conditions: Succeeded, Unknown until the Run is finished; Reconciling only until it is finished; Stalled only when it failed
	// or was canceled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Image is the one that was built for this Run, or that an earlier Run built from the same: with spec.runner.build of the
	// Stack, what plans and applies.
	// +optional
	Image *BuiltImage `json:"image,omitempty"`

	// Plan is the newest plan.
	// +optional
	Plan *Plan `json:"plan,omitempty"`

	// Attempts, oldest first. The last one is the current one. When there are more than 20 the oldest are dropped, but
	// not the newest that may have changed something.
	// +listType=map
	// +listMapKey=number
	// +optional
	Attempts []Attempt `json:"attempts,omitempty"`

	// NextAttempt is when the next try begins, after one that failed for a passing reason.
	// +optional
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`

	// Retries is how many tries followed a failed one.
	// +optional
	Retries int32 `json:"retries,omitempty"`

	// Outputs after the apply that are not sensitive; long ones, and any past 64, are left out.
	// +optional
	Outputs map[string]apiextensionsv1.JSON `json:"outputs,omitempty"`

	// FinishedAt is when the phase became final.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// Plan is what a plan would do.
type Plan struct {
	// Digest is the sha256 of the saved plan. Exactly these bytes are applied.
	Digest string `json:"digest"`
	// Changes is whether applying the plan would do anything, outputs included.
	Changes bool `json:"changes"`
	// Add is how many resources would be created; a replacement counts here and in Destroy, as engines count it.
	Add int32 `json:"add"`
	// Change is how many would be changed in place.
	Change int32 `json:"change"`
	// Destroy is how many would be destroyed; a replacement counts here and in Add.
	Destroy int32 `json:"destroy"`
	// Replace is how many of Add and of Destroy are a replacement: one resource that is destroyed and created.
	Replace int32 `json:"replace"`
	// Import is how many would be taken into the state.
	Import int32 `json:"import"`
	// Forget is how many would leave the state and live on.
	Forget int32 `json:"forget"`
	// EngineVersion is the exact version of the engine that made it; only that one applies it. Example: 1.12.6.
	// +optional
	EngineVersion string `json:"engineVersion,omitempty"`
	// Wrapped is the engine that Terragrunt ran, with the exact version; only that one applies the plan.
	// +optional
	Wrapped *WrappedEngine `json:"wrapped,omitempty"`
	// Script says that a script of the Stack's spec.commands applies it, in place of the engine.
	// +optional
	Script bool `json:"script,omitempty"`
	// Resources are the changes, destroys and replaces first; at most 100, the counts count all.
	// +listType=atomic
	// +optional
	Resources []ResourceChange `json:"resources,omitempty"`
	// Orphaned are resources that an apply made whose engine was killed, and that could not be taken into the state. As long as
	// there are any, only a person lets the plan be applied: it may make them a second time. At most 100.
	// +listType=atomic
	// +optional
	Orphaned []Orphan `json:"orphaned,omitempty"`
	// Policy is what the policies say of it; absent when there were none to ask.
	// +optional
	Policy *PolicyResult `json:"policy,omitempty"`
}

// Orphan is a resource that exists and that no state knows.
type Orphan struct {
	// Address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Reason why it could not be taken into the state.
	Reason string `json:"reason"`
}

// ResourceChange is what a plan would do to one resource.
type ResourceChange struct {
	// Address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Action: create, update, delete, replace, import, forget, move.
	Action string `json:"action"`
}
