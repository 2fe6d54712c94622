package v1alpha1

// Annotations of a Stack by which people ask for a Run. Asking takes a verb on the Stack, for the operation: plan, apply,
// destroy or shell. Who may patch a Stack but not update it can ask, and change nothing else.
const (
	// RequestedOperationAnnotation says what is asked for with cairn.dev/requested-at: Plan, Apply, Destroy or Shell. Default:
	// Apply, which plans, and applies as spec.apply says.
	RequestedOperationAnnotation = "cairn.dev/requested-operation"
	// RequestedByAnnotation is who asks: the name under which the API server knows who writes cairn.dev/requested-at, and no
	// other. The API server fills it in where it can (MutatingAdmissionPolicy).
	RequestedByAnnotation = "cairn.dev/requested-by"
	// ChangedByAnnotation is who changed the spec last. The API server fills it in where it can (MutatingAdmissionPolicy), and
	// refuses any other name.
	ChangedByAnnotation = "cairn.dev/changed-by"
)

// Hook is a script around a step. It runs in the root module's folder, as a program of its own, with the engine's
// environment and what the documentation lists: CAIRN_RUN, CAIRN_REVISION, CAIRN_PLAN_TEXT and more. What it prints goes to
// the log, without secrets. When it fails its step fails. A script without a #! line is one for /bin/sh; exit code 75 says
// that trying again may help.
//
// +kubebuilder:validation:ExactlyOneOf=script;configMap
type Hook struct {
	// Step that it is around: fetch, engine, init, plan, policy, apply or outputs.
	Step HookStep `json:"step"`
	// When: Before or After the step. After runs only where the step succeeded.
	When HookTime `json:"when"`
	// Script itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Script string `json:"script,omitempty"`
	// ConfigMap key that holds the script, in the Stack's namespace.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
	// OnFailure: Fail ends the attempt, Continue goes on and only shows that the hook failed.
	// +kubebuilder:default=Fail
	// +optional
	OnFailure HookFailure `json:"onFailure,omitempty"`
}

// HookStep is a step that hooks can be around.
//
// +kubebuilder:validation:Enum=fetch;engine;init;plan;policy;apply;outputs
type HookStep string

// HookTime says on which side of its step a hook runs.
//
// +kubebuilder:validation:Enum=Before;After
type HookTime string

// On which side of its step a hook runs.
const (
	HookBefore HookTime = "Before"
	HookAfter  HookTime = "After"
)

// HookFailure says what follows a hook that fails.
//
// +kubebuilder:validation:Enum=Fail;Continue
type HookFailure string

// What follows a hook that fails.
const (
	HookFail     HookFailure = "Fail"
	HookContinue HookFailure = "Continue"
)

// Policy is a ConfigMap of policies over the engine's plan in JSON, as `tofu show -json` gives it. Each *.rego key is a
// module of Open Policy Agent with the conventions of conftest: in package main, deny and violation refuse the plan, warn is
// shown; require_approval lets the plan wait for an approval, also where spec.apply is Automatic. Each *.yaml key has a list "validations" as a ValidatingAdmissionPolicy has: expressions of CEL over the variable
// plan, which have to be true.
type Policy struct {
	// ConfigMap in the Stack's namespace.
	ConfigMap ObjectRef `json:"configMap"`
}

// PolicyResult is what policies say of a plan.
type PolicyResult struct {
	// Checked is how many modules and validations looked at it.
	Checked int32 `json:"checked"`
	// Denied is how many findings refuse it.
	Denied int32 `json:"denied"`
	// Warned is how many only warn.
	Warned int32 `json:"warned"`
	// ApprovalRequired is how many require an approval before the plan is applied, also where spec.apply is Automatic.
	// +optional
	ApprovalRequired int32 `json:"approvalRequired,omitempty"`
	// Findings, those that refuse it first, then those that require an approval; at most 50, the counts count all.
	// +listType=atomic
	// +optional
	Findings []PolicyFinding `json:"findings,omitempty"`
}

// PolicyFinding is one thing that a policy has to say of a plan.
type PolicyFinding struct {
	// Policy that says it: the ConfigMap and its key. Example: rules/tags.rego; one that the install requires begins with
	// its namespace: cairn-system/rules/tags.rego.
	Policy string `json:"policy"`
	// Action: Deny, RequireApproval or Warn.
	// +kubebuilder:validation:Enum=Deny;RequireApproval;Warn
	Action string `json:"action"`
	// Message for a person.
	Message string `json:"message"`
}
