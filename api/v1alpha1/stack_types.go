package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stack is one root module with its variables and its one state: the unit people own. Cairn plans every change of
// it, waits for approval where asked, applies exactly what was approved, and destroys on deletion.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.lastRun`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Apply",type=string,priority=1,JSONPath=`.spec.apply`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="a Stack's name may have 200 characters at most: the names of its Runs and pods are made from it"
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the Stack is made of and the rules it is changed by.
	Spec StackSpec `json:"spec"`
	// Status says what is known of it. Before an operator has seen the Stack, observedGeneration is -1.
	// +kubebuilder:default={"observedGeneration":-1}
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

// StackSpec is what a person declares.
type StackSpec struct {
	// Source is where the code comes from. Exactly one of its fields is set.
	Source Source `json:"source"`

	// Variables are values for the code's input variables, each name at most once; their order does not matter. All of
	// them win over variableFiles. Several field managers can each own some of them (server-side apply). A name that the
	// code does not declare is rejected with the plan. Example: [{name: servers, value: 3}].
	// +kubebuilder:validation:MaxItems=500
	// +listType=map
	// +listMapKey=name
	// +optional
	Variables []Variable `json:"variables,omitempty"`

	// VariableFiles are Secrets and ConfigMaps whose *.tfvars and *.tfvars.json keys are given to the engine as
	// variable files, in the order of this list and, within one object, in key order. Later ones win. Other keys are
	// left alone.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	VariableFiles []VariableFile `json:"variableFiles,omitempty"`

	// Env are environment variables for the engine and its providers. Values from Secrets never appear in logs.
	// Names that start with CAIRN_ are refused: they are Cairn's own.
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.startsWith('CAIRN_'))",message="names that start with CAIRN_ are Cairn's own"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || !has(e.valueFrom.resourceFieldRef))",message="resourceFieldRef cannot be used here"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom adds every key of a Secret or ConfigMap as an environment variable; Env wins over it.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Engine is what plans and applies the code. What it leaves out is taken from spec.engine of the Repository, if the code is from
	// one; status.engine says what came of both.
	// +kubebuilder:default={}
	// +optional
	Engine Engine `json:"engine,omitempty"`

	// Backend keeps the state where it is said. Absent: Cairn keeps it.
	// +optional
	Backend *Backend `json:"backend,omitempty"`

	// Commands are scripts in place of the engine's own apply and destroy.
	// +optional
	Commands *Commands `json:"commands,omitempty"`

	// Apply says what follows a plan that has changes. Manual: it waits until a person approves that very plan.
	// Automatic: it is applied at once, unless requireApprovalFor, preventSelfApproval or a policy requires an approval. Never: it is
	// only shown. Manual covers destroys too.
	// +kubebuilder:default=Manual
	// +optional
	Apply ApplyPolicy `json:"apply,omitempty"`

	// RequireApprovalFor lists the kinds of change that wait for an approval although apply is Automatic. A plan with at
	// least one of them waits as a whole, also when it corrects drift. With apply Manual every plan waits anyway, and with
	// Never nothing is applied: then this list changes nothing. Empty: no kind waits.
	// Example: [Delete], which applies by itself, but asks before anything is destroyed.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	RequireApprovalFor []ChangeKind `json:"requireApprovalFor,omitempty"`

	// Drift says how often Cairn checks whether what exists is still as it was applied, and what follows when it is not. Absent: the
	// checks are as often as the installation's default, and drift is reported.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Windows say when plans, applies and destroys may begin. What has begun goes on when a window closes. Deny wins; where
	// there is an Allow for an operation it may begin only inside one. Empty: always.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Windows []Window `json:"windows,omitempty"`

	// DependsOn names Stacks of the same namespace that have to be applied before this one is planned, and that are
	// destroyed after it.
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	DependsOn []Dependency `json:"dependsOn,omitempty"`

	// ModuleCredentials are for modules that the code fetches with git itself (source = "git::..."), each for one host.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=host
	// +optional
	ModuleCredentials []ModuleCredentials `json:"moduleCredentials,omitempty"`

	// PreventSelfApproval rejects an approval by the user who caused the change: the user who requested the Run, changed the
	// Stack or wrote the commit. With it every plan that has changes waits for an approval, also where spec.apply is Automatic.
	// Where no user is known to have caused the change, as with drift or a changed Secret, any user who may approve can.
	// Default: false. Example: true.
	// +optional
	PreventSelfApproval bool `json:"preventSelfApproval,omitempty"`

	// Hooks are scripts that run before or after a step, in the pod, beside the code. They run in the order given.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Hooks []Hook `json:"hooks,omitempty"`

	// Policies look at each plan that has changes, before anybody is asked to approve it. The install may require more of
	// them.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Policies []Policy `json:"policies,omitempty"`

	// Outputs names the objects that receive the code's outputs. Nothing is written when absent.
	// +optional
	Outputs *Outputs `json:"outputs,omitempty"`

	// Retry says how often a Run that failed for a passing reason is tried again, each time with a new plan.
	// +kubebuilder:default={}
	// +optional
	Retry Retry `json:"retry,omitempty"`

	// Timeout is how long one attempt at a plan or an apply may take. When it is over the engine is interrupted, so
	// that it saves its state, and the attempt counts as failed for a passing reason.
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="more than 0s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// DeletionPolicy says what deleting the Stack does. Destroy: its resources are destroyed first, with the inputs that were
	// last applied. Orphan: its resources stay, and so does its State. Protect: the API server denies the deletion. A plan that is
	// in progress when the Stack is deleted is canceled; an apply finishes first. Default: Destroy. Example: Protect.
	// +kubebuilder:default=Destroy
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Suspend stops Cairn from starting anything new for this Stack, deletion too. What runs already goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// RunHistoryLimit is the number of finished Runs to keep; older ones are deleted with their plans and logs. Runs that the
	// Stack's status refers to are kept also with 0. Drift checks are not counted: only the newest is kept. Default: 10. Example: 3.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	RunHistoryLimit *int32 `json:"runHistoryLimit,omitempty"`

	// Runner shapes the pods that run the engine.
	// +kubebuilder:default={}
	// +optional
	Runner Runner `json:"runner,omitempty"`
}

// EngineName is a program that plans and applies code.
//
// +kubebuilder:validation:Enum=OpenTofu;Terraform;Terragrunt
type EngineName string

// Programs that plan and apply code.
const (
	// EngineOpenTofu is OpenTofu, https://opentofu.org.
	EngineOpenTofu EngineName = "OpenTofu"
	// EngineTerraform is Terraform, https://www.terraform.io.
	EngineTerraform EngineName = "Terraform"
	// EngineTerragrunt is Terragrunt, https://terragrunt.gruntwork.io, over OpenTofu or else Terraform.
	EngineTerragrunt EngineName = "Terragrunt"
)

// Engine says what plans and applies the code.
//
// +kubebuilder:validation:XValidation:rule="!has(self.wrapped) || !has(self.name) || self.name == 'Terragrunt'",message="wrapped is for name: Terragrunt"
type Engine struct {
	// Name of the engine: OpenTofu, Terraform or Terragrunt. Default: that of the Repository, or OpenTofu. Example: Terraform.
	// +optional
	Name EngineName `json:"name,omitempty"`

	// Version is a constraint on the engine's version, as in required_version. The engine of the runner's image is taken
	// when it meets it, otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the
	// code says, from git, a ConfigMap or inline: the nearest .opentofu-version, .terraform-version or .terragrunt-version file from
	// the root module's folder up, or else required_version; and when the code says nothing, any version. Example: "~> 1.12".
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Version string `json:"version,omitempty"`

	// Wrapped is the engine that Terragrunt runs; only for Terragrunt. Absent: OpenTofu, or Terraform where the runner's image has
	// that and no OpenTofu, in a version that the code asks for. Example: {name: Terraform, version: "~> 1.9"}.
	// +optional
	Wrapped *WrappedEngine `json:"wrapped,omitempty"`
}

// WrappedEngine is an engine that Terragrunt runs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name != 'Terragrunt'",message="Terragrunt runs OpenTofu or Terraform"
type WrappedEngine struct {
	// Name of the engine: OpenTofu or Terraform. Default: OpenTofu, or Terraform where the runner's image has that and no OpenTofu.
	// Example: Terraform.
	// +optional
	Name EngineName `json:"name,omitempty"`

	// Version is a constraint on its version, as in required_version. The engine of the runner's image is taken when it meets it,
	// otherwise the newest one that does, downloaded and verified by Cairn. Empty takes what the code says: the nearest
	// .opentofu-version or .terraform-version file from the unit's folder up, or else terraform_version_constraint and
	// required_version; and when the code says nothing, any version. Example: "~> 1.9".
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Version string `json:"version,omitempty"`
}

// ApplyPolicy says what follows a plan that has changes.
//
// +kubebuilder:validation:Enum=Manual;Automatic;Never
type ApplyPolicy string

// What follows a plan that has changes.
const (
	ApplyManual    ApplyPolicy = "Manual"
	ApplyAutomatic ApplyPolicy = "Automatic"
	ApplyNever     ApplyPolicy = "Never"
)

// ChangeKind is a kind of change that a plan can have, by the counts of the plan. A replacement destroys a resource and
// creates it again, so it is a Replace, a Delete and a Create, as engines count it.
//
// +kubebuilder:validation:Enum=Create;Update;Replace;Delete;StackDeletion
type ChangeKind string

// Kinds of change that a plan can have.
const (
	// ChangeCreate: a resource is created, on its own or by a replacement.
	ChangeCreate ChangeKind = "Create"
	// ChangeUpdate: a resource is changed in place.
	ChangeUpdate ChangeKind = "Update"
	// ChangeReplace: a resource is destroyed and created again.
	ChangeReplace ChangeKind = "Replace"
	// ChangeDelete: a resource is destroyed: on its own, by a replacement, or with everything else when a destroy is
	// requested or the Stack is deleted.
	ChangeDelete ChangeKind = "Delete"
	// ChangeStackDeletion: the Stack is being deleted, and everything it created is destroyed.
	ChangeStackDeletion ChangeKind = "StackDeletion"
)

// DeletionPolicy says what deleting a Stack does.
//
// +kubebuilder:validation:Enum=Destroy;Orphan;Protect
type DeletionPolicy string

// What deleting a Stack does.
const (
	DeletionDestroy DeletionPolicy = "Destroy"
	DeletionOrphan  DeletionPolicy = "Orphan"
	DeletionProtect DeletionPolicy = "Protect"
)

// ModuleCredentials are what git shows to one host, and to no other, when the code fetches modules.
type ModuleCredentials struct {
	// Host, with the port if it has one. Example: git.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
	Host string `json:"host"`
	// Secret in the Stack's namespace: username and password, or bearerToken, or identity and known_hosts.
	Secret ObjectRef `json:"secret"`
}

// Outputs names the objects that receive the code's outputs. A string output is written as it is, any other as JSON.
// Cairn makes the objects; one that it did not make is left alone and the Stack says so.
//
// +kubebuilder:validation:MinProperties=1
type Outputs struct {
	// Secret receives every output.
	// +optional
	Secret *ObjectRef `json:"secret,omitempty"`
	// ConfigMap receives the outputs that are not sensitive.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`
}
