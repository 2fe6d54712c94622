package v1alpha1

// Annotations of a Stack with which users request a Run, and of who changed a Stack or Repository. A request requires
// the verb of the operation on the Stack: plan, apply, destroy or shell. A user who can patch but not update a Stack
// can request Runs, and cannot change anything else.
const (
	// RequestedOperationAnnotation is the operation that cairn.dev/requested-at requests: Plan, Apply, Destroy
	// or Shell. Default: Apply, which plans, and applies according to spec.apply.
	RequestedOperationAnnotation = "cairn.dev/requested-operation"
	// RequestedByAnnotation is the user who requests the Run. The API server rejects any name other than that
	// of the user who writes cairn.dev/requested-at. It sets the annotation where it supports
	// MutatingAdmissionPolicy.
	RequestedByAnnotation = "cairn.dev/requested-by"
	// ChangedByAnnotation is the user who last changed the spec of a Stack or Repository. The API server rejects any
	// other name. It sets the annotation where it supports MutatingAdmissionPolicy.
	ChangedByAnnotation = "cairn.dev/changed-by"
	// ChangedByStackSet begins the name of a Stack that Cairn changed for a StackSet: stackset:NAME.
	ChangedByStackSet = "stackset:"
)

// Hook is a script that runs before or after a step of an attempt. It runs in the directory of the root module,
// with the environment of the engine and variables such as CAIRN_RUN and CAIRN_REVISION. Cairn writes its output
// to the log and removes secrets. A hook that fails fails its step. The first line can name an interpreter (#!);
// the default is /bin/sh. Exit code 75 reports a transient failure. Example: {step: plan, when: After, script:
// 'infracost breakdown --path .'}.
//
// +kubebuilder:validation:ExactlyOneOf=script;configMap
type Hook struct {
	// Step is the step that the hook belongs to: fetch, engine, init, plan, policy, apply or outputs.
	Step HookStep `json:"step"`
	// When is the time at which the hook runs: Before or After the step. An After hook runs only if the step
	// succeeds.
	When HookTime `json:"when"`
	// Script is the text of the script. At most 64 KiB. Exactly one of script and configMap must be set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Script string `json:"script,omitempty"`
	// ConfigMap is a key of a ConfigMap in the namespace of the Stack that contains the script.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
	// OnFailure is what happens when the hook fails. Fail ends the attempt. Continue reports the failure of
	// the hook and continues with the attempt. Default: Fail.
	// +optional
	OnFailure HookFailure `json:"onFailure,omitempty"`
}

// HookStep is a step of an attempt that can have hooks.
//
// +kubebuilder:validation:Enum=fetch;engine;init;plan;policy;apply;outputs
type HookStep string

// HookTime is the time at which a hook runs, relative to its step.
//
// +kubebuilder:validation:Enum=Before;After
type HookTime string

// Times at which a hook runs.
const (
	// HookBefore runs the hook before its step.
	HookBefore HookTime = "Before"
	// HookAfter runs the hook after its step succeeds.
	HookAfter HookTime = "After"
)

// HookFailure is what happens when a hook fails.
//
// +kubebuilder:validation:Enum=Fail;Continue
type HookFailure string

// Reactions to a hook that fails.
const (
	// HookFail ends the attempt.
	HookFail HookFailure = "Fail"
	// HookContinue reports the failure and continues with the attempt.
	HookContinue HookFailure = "Continue"
)

// Policy references a ConfigMap with policies for the JSON plan of the engine (tofu show -json). Each *.rego key
// is an Open Policy Agent module in package main, as for conftest. Its rules deny and violation deny the plan,
// warn adds a warning, and require_approval requires an approval even if spec.apply is Automatic. Each *.yaml key
// has a list "validations" as in a ValidatingAdmissionPolicy: CEL expressions over the variable plan that must be
// true.
type Policy struct {
	// ConfigMap is a ConfigMap in the namespace of the Stack.
	ConfigMap ObjectRef `json:"configMap"`
}

// PolicyResult is the result of all policies for a plan.
type PolicyResult struct {
	// Checked is the number of modules and validations that were evaluated.
	Checked int32 `json:"checked"`
	// Denied is the number of findings that deny the plan.
	Denied int32 `json:"denied"`
	// Warned is the number of findings that are warnings.
	Warned int32 `json:"warned"`
	// ApprovalRequired is the number of findings that require an approval before the plan is applied, even if
	// spec.apply is Automatic.
	// +optional
	ApprovalRequired int32 `json:"approvalRequired,omitempty"`
	// Findings are the findings of the policies: first those that deny the plan, then those that require an
	// approval, then warnings. At most 50; the counts include all findings.
	// +listType=atomic
	// +optional
	Findings []PolicyFinding `json:"findings,omitempty"`
}

// PolicyFinding is one message of a policy about a plan.
type PolicyFinding struct {
	// Policy is the ConfigMap and the key of the policy. For a policy that the installation requires, the
	// namespace comes first. Examples: rules/tags.rego, cairn-system/rules/tags.rego.
	Policy string `json:"policy"`
	// Action is the effect of the finding: Deny, RequireApproval or Warn.
	// +kubebuilder:validation:Enum=Deny;RequireApproval;Warn
	Action string `json:"action"`
	// Message is the text of the finding. Example: "bucket logs has no tag owner".
	Message string `json:"message"`
}
