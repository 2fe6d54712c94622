package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stack is a root module with its variables and its state. Cairn plans every change of a Stack, waits for an
// approval if required, and applies exactly the approved plan. When a Stack is deleted, Cairn destroys its
// resources.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Resources",type=string,JSONPath=`.status.resources`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.lastRun`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Apply",type=string,priority=1,JSONPath=`.spec.apply`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="the name of a Stack can have at most 200 characters, because the names of its Runs and pods contain it"
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the code and the variables of the Stack, and how Cairn applies changes.
	Spec StackSpec `json:"spec"`
	// Status reports the observed state of the Stack. observedGeneration is -1 until an operator reconciles
	// the Stack.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status StackStatus `json:"status,omitempty"`
}

// StackList is a list of Stacks.
//
// +kubebuilder:object:root=true
type StackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Stack `json:"items"`
}

// StackSpec declares a Stack.
type StackSpec struct {
	// Source specifies where the code comes from. Exactly one of git, configMap and inline must be set.
	// Example: {git: {repository: {name: infra}, path: envs/prod}}.
	Source Source `json:"source"`

	// Variables are the values of input variables of the code. Each name can occur once; the order does not
	// matter. They take precedence over variableFiles. With server-side apply, several field managers can each
	// own some entries. A name that the code does not declare fails the plan. At most 500. Example: [{name:
	// servers, value: 3}].
	// +kubebuilder:validation:MaxItems=500
	// +listType=map
	// +listMapKey=name
	// +optional
	Variables []Variable `json:"variables,omitempty"`

	// VariableFiles are Secrets, ConfigMaps or files of the source that contain variable files (*.tfvars and
	// *.tfvars.json). The engine loads them in the order of this list and, within one object, in key order;
	// later files take precedence. Other keys of the objects are ignored. At most 50. Example: [{secret:
	// {name: net-tfvars}}].
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	VariableFiles []VariableFile `json:"variableFiles,omitempty"`

	// Env are environment variables of the engine and its providers. Values from Secrets never appear in logs.
	// As in a pod, $(NAME) in a value is replaced by the variable NAME, and $$ by $: write $$$$ for $$, or use
	// valueFrom, whose values stay as they are. Names that start with CAIRN_ are reserved and rejected, and so are
	// resourceFieldRef and fileKeyRef. The engine does not get variables that change what it does, such as TF_CLI_ARGS:
	// the condition EnvironmentIgnored names them. At most 200.
	// Example: [{name: AWS_REGION, value: eu-west-1}].
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.startsWith('CAIRN_'))",message="names that start with CAIRN_ are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || (!has(e.valueFrom.resourceFieldRef) && !has(e.valueFrom.fileKeyRef)))",message="resourceFieldRef and fileKeyRef are not supported"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom adds every key of a Secret or ConfigMap as an environment variable. Variables of env take
	// precedence. At most 50. Example: [{secretRef: {name: aws}}].
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Engine is the engine that plans and applies the code. Fields that are unset are taken from spec.engine
	// of the Repository, if the code is from git. status.engine reports the result. Default: OpenTofu.
	// Example: {name: Terraform, version: "~> 1.9"}.
	// +kubebuilder:default={}
	// +optional
	Engine Engine `json:"engine,omitempty"`

	// Workspace is the workspace of the engine: the value of terraform.workspace in the code and, with backend, the
	// workspace whose state the engine uses there. A Stack has one workspace. Default: default. Example: prod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_~$&+=:@-][A-Za-z0-9_.~$&+=:@-]*$`
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Backend is the backend of the engine that stores the state. If unset, Cairn stores the state. Example:
	// {fromCode: true}.
	// +optional
	Backend *Backend `json:"backend,omitempty"`

	// Commands are scripts that replace the apply of the engine. If unset, the engine applies.
	// +optional
	Commands *Commands `json:"commands,omitempty"`

	// Apply is what happens after a plan with changes. With Manual, the plan waits until a user approves it;
	// this includes destroys. With Automatic, Cairn applies the plan immediately, unless requireApprovalFor,
	// preventSelfApproval or a policy requires an approval. With Never, Cairn only reports the plan. Default:
	// Manual.
	// +kubebuilder:default=Manual
	// +optional
	Apply ApplyPolicy `json:"apply,omitempty"`

	// RequireApprovalFor lists kinds of change that require an approval even if apply is Automatic. If a plan
	// contains at least one of them, the whole plan waits, including a plan that corrects drift. The list has
	// no effect if apply is Manual or Never. At most 6. Default: empty, no kind of change requires an
	// approval. Example: [Delete], which requires an approval before anything is destroyed.
	// +kubebuilder:validation:MaxItems=6
	// +listType=set
	// +optional
	RequireApprovalFor []ChangeKind `json:"requireApprovalFor,omitempty"`

	// Drift configures how often Cairn checks for drift, and what happens when it detects drift. If unset,
	// Cairn checks at the default interval of the installation and reports drift. Example: {interval: 1h,
	// onDrift: Apply}.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Windows are time spans in which plans, applies and destroys can, or cannot, start. Operations in
	// progress continue when a window closes. Deny takes precedence over Allow. If there is an Allow window
	// for an operation, it starts only inside such a window. At most 20. Default: empty, operations start at
	// any time.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Windows []Window `json:"windows,omitempty"`

	// DependsOn lists Stacks that Cairn applies before it plans this one, and destroys after it. Each name can occur
	// once. At most 50. Example: [{name: net}].
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	DependsOn []Dependency `json:"dependsOn,omitempty"`

	// ModuleCredentials are credentials for modules that the engine fetches with git (source = "git::..."),
	// each for one host. At most 20. Example: [{host: git.example.com, secret: {name: modules-git}}].
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=host
	// +optional
	ModuleCredentials []ModuleCredentials `json:"moduleCredentials,omitempty"`

	// PreventSelfApproval rejects an approval by each user who caused a part of the change since the last apply:
	// who requested the Run, changed the Stack, its Repository or its state, or wrote a commit. It requires an
	// approval for every plan with changes, even if apply is Automatic. If not all of these users are known, an
	// approval requires a Run that another user requested. If no user caused the change, as with drift or a
	// changed Secret, any user with the verb approve can approve. The State keeps the rule when a user removes it,
	// until another user approves a plan that is then applied. Default: false. Example: true.
	// +optional
	PreventSelfApproval bool `json:"preventSelfApproval,omitempty"`

	// Hooks are scripts that run in the pod before or after a step, in the order of this list. At most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Hooks []Hook `json:"hooks,omitempty"`

	// Policies are evaluated for each plan with changes, before an approval is requested. The installation can
	// require additional policies. At most 20. Example: [{configMap: {name: rules}}].
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Policies []Policy `json:"policies,omitempty"`

	// Outputs names the objects to which Cairn writes the outputs of the code. If unset, Cairn writes no
	// objects. Example: {secret: {name: net-outputs}}.
	// +optional
	Outputs *Outputs `json:"outputs,omitempty"`

	// Retry configures how often Cairn retries a Run after a transient failure. Each retry plans again.
	// Default: {limit: 3, backoff: 15s, maxBackoff: 10m}.
	// +kubebuilder:default={}
	// +optional
	Retry Retry `json:"retry,omitempty"`

	// Timeout is the maximum duration of one attempt of a plan or an apply, at most 8760h. After that time,
	// Cairn interrupts the engine, which saves its state. The attempt then fails with a transient failure.
	// Default: 1h. Example: 30m.
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="more than 0s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// DeletionPolicy is what happens when the Stack is deleted. With Destroy, Cairn first destroys the
	// resources, with the inputs of the last apply. With Orphan, the resources and the State remain. With
	// Protect, the API server denies the deletion. When the Stack is deleted, Cairn cancels a plan in progress
	// and lets an apply in progress finish. Default: Destroy. Example: Protect.
	// +kubebuilder:default=Destroy
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Suspend stops Cairn from starting Runs of this Stack, including the destroy of a deleted Stack.
	// Operations in progress continue. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// RunHistoryLimit is the number of finished Runs to keep, from 0 to 100. Older Runs are deleted with their
	// plans and logs. Runs that the status of the Stack refers to are always kept. Of drift checks, only the
	// newest is kept, and it does not count. Default: 10. Example: 3.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	RunHistoryLimit *int32 `json:"runHistoryLimit,omitempty"`

	// Runner configures the pods that run the engine. If unset, they use the defaults of the installation.
	// +kubebuilder:default={}
	// +optional
	Runner Runner `json:"runner,omitempty"`

	// PullRequests configures the plans of the Stack for pull requests, if the Repository has spec.pullRequests. If
	// unset, they run without the ServiceAccount, the environment and the pod template of the Stack. They never have
	// its backend.
	// +optional
	PullRequests *StackPullRequests `json:"pullRequests,omitempty"`
}

// EngineName is a program that plans and applies code.
//
// +kubebuilder:validation:Enum=OpenTofu;Terraform;Terragrunt
type EngineName string

// Engines.
const (
	// EngineOpenTofu is OpenTofu, https://opentofu.org.
	EngineOpenTofu EngineName = "OpenTofu"
	// EngineTerraform is Terraform, https://www.terraform.io.
	EngineTerraform EngineName = "Terraform"
	// EngineTerragrunt is Terragrunt, https://terragrunt.gruntwork.io, which runs OpenTofu or Terraform.
	EngineTerragrunt EngineName = "Terragrunt"
)

// Engine specifies the engine and its version.
//
// +kubebuilder:validation:XValidation:rule="!has(self.wrapped) || !has(self.name) || self.name == 'Terragrunt'",message="wrapped requires name: Terragrunt"
type Engine struct {
	// Name is the engine: OpenTofu, Terraform or Terragrunt. Default: spec.engine.name of the Repository,
	// otherwise OpenTofu. Example: Terraform.
	// +optional
	Name EngineName `json:"name,omitempty"`

	// Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
	// meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
	// code decides: the nearest .opentofu-version, .terraform-version or .terragrunt-version file in the
	// directory of the root module or a parent, otherwise required_version. If the code does not decide
	// either, any version is used. Example: "~> 1.12".
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Version string `json:"version,omitempty"`

	// Wrapped is the engine that Terragrunt runs. Only allowed with name: Terragrunt. Default: OpenTofu, or
	// Terraform if the runner image contains only Terraform, in a version that the code accepts. Example:
	// {name: Terraform, version: "~> 1.9"}.
	// +optional
	Wrapped *WrappedEngine `json:"wrapped,omitempty"`
}

// WrappedEngine is an engine that Terragrunt runs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name != 'Terragrunt'",message="Terragrunt runs OpenTofu or Terraform"
type WrappedEngine struct {
	// Name is the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform if the runner image contains
	// only Terraform. Example: Terraform.
	// +optional
	Name EngineName `json:"name,omitempty"`

	// Version is a version constraint, as in required_version. Cairn uses the engine of the runner image if it
	// meets the constraint. Otherwise Cairn downloads and verifies the newest version that does. If unset, the
	// code decides: the nearest .opentofu-version or .terraform-version file in the directory of the unit or a
	// parent, otherwise terraform_version_constraint and required_version. If the code does not decide either,
	// any version is used. Example: "~> 1.9".
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Version string `json:"version,omitempty"`
}

// ApplyPolicy is what happens after a plan with changes.
//
// +kubebuilder:validation:Enum=Manual;Automatic;Never
type ApplyPolicy string

// Policies for applying a plan with changes.
const (
	// ApplyManual: the plan waits until a user approves it.
	ApplyManual ApplyPolicy = "Manual"
	// ApplyAutomatic: Cairn applies the plan immediately, unless the Stack or a policy requires an approval.
	ApplyAutomatic ApplyPolicy = "Automatic"
	// ApplyNever: Cairn only reports the plan.
	ApplyNever ApplyPolicy = "Never"
)

// ChangeKind is a kind of change in a plan, according to the counts of the plan. A replacement destroys and
// creates a resource, so it counts as Replace, Delete and Create.
//
// +kubebuilder:validation:Enum=Create;Update;Replace;Delete;Action;StackDeletion
type ChangeKind string

// Kinds of change that a plan can have.
const (
	// ChangeCreate: a resource is created, on its own or by a replacement.
	ChangeCreate ChangeKind = "Create"
	// ChangeUpdate: a resource is updated in place.
	ChangeUpdate ChangeKind = "Update"
	// ChangeReplace: a resource is destroyed and created again.
	ChangeReplace ChangeKind = "Replace"
	// ChangeDelete: a resource is destroyed: on its own, by a replacement, by a requested destroy or by the
	// deletion of the Stack.
	ChangeDelete ChangeKind = "Delete"
	// ChangeAction: the apply invokes an action of a provider (Terraform 1.14), such as the call of a function, in
	// addition to the changes of resources.
	ChangeAction ChangeKind = "Action"
	// ChangeStackDeletion: the Stack is being deleted, and all of its resources are destroyed.
	ChangeStackDeletion ChangeKind = "StackDeletion"
)

// DeletionPolicy is what happens when a Stack is deleted.
//
// +kubebuilder:validation:Enum=Destroy;Orphan;Protect
type DeletionPolicy string

// Policies for the deletion of a Stack.
const (
	// DeletionDestroy: Cairn first destroys the resources.
	DeletionDestroy DeletionPolicy = "Destroy"
	// DeletionOrphan: the resources and the State remain.
	DeletionOrphan DeletionPolicy = "Orphan"
	// DeletionProtect: the API server denies the deletion.
	DeletionProtect DeletionPolicy = "Protect"
)

// ModuleCredentials are git credentials for one host, used when the engine fetches modules.
type ModuleCredentials struct {
	// Host is the host, with the port if it is not the default. Git sends the credentials to no other host.
	// Example: git.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
	Host string `json:"host"`
	// Secret is a Secret in the namespace of the Stack with the keys that spec.credentials of a Repository has,
	// except those of a GitHub App: username and password, or bearerToken; identity and known_hosts for SSH;
	// ca.crt. It can have keys for HTTPS and for SSH. Cairn rejects other keys.
	Secret ObjectRef `json:"secret"`
}

// Outputs names the objects to which Cairn writes the outputs of the code. Strings are written as they are, other
// values as JSON. Cairn creates the objects. It does not change an existing object that it did not create: the
// Stack then reports the reason OutputsConflict.
//
// +kubebuilder:validation:MinProperties=1
type Outputs struct {
	// Secret receives all outputs, including sensitive ones.
	// +optional
	Secret *ObjectRef `json:"secret,omitempty"`
	// ConfigMap receives the outputs that are not sensitive.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`
}
