package runnerapi

import (
	"encoding/json"
	"time"
)

// OrderKind is a runner's next operation.
type OrderKind string

// A runner's next operation.
const (
	// OrderWait: nothing yet; ask again.
	OrderWait OrderKind = "Wait"
	// OrderBuild: fetch, build the image and push it, report its digest.
	OrderBuild OrderKind = "Build"
	// OrderPlan: fetch, init, plan, keep the plan, report.
	OrderPlan OrderKind = "Plan"
	// OrderApply: apply the kept plan whose digest is PlanDigest, write the outputs, report.
	OrderApply OrderKind = "Apply"
	// OrderShell: fetch, init, hold the pod for a user to work in, report.
	OrderShell OrderKind = "Shell"
	// OrderExit: the pod is no longer needed.
	OrderExit OrderKind = "Exit"
)

// Order is what a runner does next.
type Order struct {
	Kind OrderKind `json:"kind"`
	// Attempt this order is for; every later request carries it.
	Attempt int32 `json:"attempt,omitempty"`
	// Namespace, Stack and Run are for messages and the environment of the engine.
	Namespace string `json:"namespace,omitempty"`
	Stack     string `json:"stack,omitempty"`
	Run       string `json:"run,omitempty"`
	// Destroy plans the end of everything. Its variable files are those that were kept: GET /v1/inputs.
	Destroy bool `json:"destroy,omitempty"`
	// PlanOptions are options of the plan; nil for none.
	PlanOptions *PlanOptions `json:"planOptions,omitempty"`
	// Source is the digest of the code's archive.
	Source string `json:"source,omitempty"`
	// Folder is the name of the folder that the code is unpacked to, which path.cwd contains; empty for any name.
	Folder string `json:"folder,omitempty"`
	// Path of the root module within the archive, with slashes; empty is the archive's root.
	Path string `json:"path,omitempty"`
	// Partial is true when the archive has only the files of a repository that the code reads, as far as the server
	// knows them, and those that match the globs in Triggers.
	Partial  bool     `json:"partial,omitempty"`
	Triggers []string `json:"triggers,omitempty"`
	// Workspace of the engine; empty for "default".
	Workspace string `json:"workspace,omitempty"`
	// Engine that does it: OpenTofu, Terraform or Terragrunt.
	Engine string `json:"engine,omitempty"`
	// EngineVersion is a constraint that the engine must meet; empty takes any. An apply names the plan's very version.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Wrapped are the engines that Terragrunt may run, each with a constraint on its version. The first that is in the
	// image is taken, or else the first. Empty is OpenTofu, then Terraform, in any version. An apply names the one of
	// the plan.
	Wrapped []WrappedEngine `json:"wrapped,omitempty"`
	// VariableFiles are given to the engine in this order, before Variables.
	VariableFiles []VariableFiles `json:"variableFiles,omitempty"`
	// Variables win over VariableFiles; a later one wins over an earlier one.
	Variables []Variable `json:"variables,omitempty"`
	// Operation, Revision and Cause are for the environment of hooks: Apply, Plan, Destroy or Shell; the source's name
	// for users; why there is this Run.
	Operation string `json:"operation,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Cause     string `json:"cause,omitempty"`
	// Hooks in the order in which they run where several are at the same place.
	Hooks []Hook `json:"hooks,omitempty"`
	// Command is a script that runs in place of the engine's apply; empty for the engine's. A plan reports it, too.
	Command string `json:"command,omitempty"`
	// Policy is true when there are policies to ask about a plan that has changes: POST /v1/policy.
	Policy bool `json:"policy,omitempty"`
	// SecretEnv names the environment variables of the runner whose values are secret.
	SecretEnv []string `json:"secretEnv,omitempty"`
	// SecretDirs are folders below the runner's inputs folder; every file in them holds a secret value.
	SecretDirs []string `json:"secretDirs,omitempty"`
	// Providers is true when the server has a mirror of providers, which the engine's init gets them from: GET
	// /v1/providers/.
	Providers bool `json:"providers,omitempty"`
	// PlanDigest of the plan to apply.
	PlanDigest string `json:"planDigest,omitempty"`
	// Outputs asks for the outputs to be sent after the apply, or after a plan without changes.
	Outputs bool `json:"outputs,omitempty"`
	// Timeout of the attempt.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Patience is how long the runner keeps trying a server that does not answer or answers 429 or 5xx.
	Patience time.Duration `json:"patience,omitempty"`
	// ModuleCredentials are for the hosts that the code fetches modules from with git.
	ModuleCredentials []ModuleCredentials `json:"moduleCredentials,omitempty"`
	// Backend is the engine's own that keeps the state; nil when the server does.
	Backend *Backend `json:"backend,omitempty"`
	// Build is the image to build; the Source is its context's then.
	Build *Build `json:"build,omitempty"`
	// Recipient is the installation's public key (age). A state that can be sent nowhere goes to the pod's log,
	// encrypted to it.
	Recipient string `json:"recipient,omitempty"`
}

// PlanOptions are options of a plan: addresses for -target, -exclude and -replace, or -refresh-only.
type PlanOptions struct {
	Targets  []string `json:"targets,omitempty"`
	Excludes []string `json:"excludes,omitempty"`
	Replace  []string `json:"replace,omitempty"`

	RefreshOnly bool `json:"refreshOnly,omitempty"`
}

// WrappedEngine is an engine that Terragrunt runs.
type WrappedEngine struct {
	// Name: OpenTofu or Terraform.
	Name string `json:"name"`
	// Version is a constraint in an order, empty for any, and an exact version in a report.
	Version string `json:"version,omitempty"`
}

// Build is how an image is built, and where it is pushed to.
type Build struct {
	// Builder: Buildah, BuildKit or Kaniko.
	Builder string `json:"builder"`
	// Image is the repository, and Tag what keeps the image there from being deleted.
	Image string `json:"image"`
	Tag   string `json:"tag"`
	// Dockerfile and Context are paths within the archive; "." is all of it.
	Dockerfile string `json:"dockerfile"`
	Context    string `json:"context"`
	// Target is the stage to build; empty for the last one.
	Target string `json:"target,omitempty"`
	// Args are NAME=value, for ARG.
	Args []string `json:"args,omitempty"`
	// Cache is a repository for layers; empty for none.
	Cache string `json:"cache,omitempty"`
	// Insecure lets the registry have no certificate that is trusted.
	Insecure bool `json:"insecure,omitempty"`
	// PushDir is the folder below the runner's inputs folder with the config.json of PushSecret; empty for none.
	PushDir    string `json:"pushDir,omitempty"`
	PushSecret string `json:"pushSecret,omitempty"`
}

// Hook is a script around a step.
type Hook struct {
	// Step that it is around, and When: Before or After.
	Step string `json:"step"`
	When string `json:"when"`
	// Script itself, all of it.
	Script string `json:"script"`
	// Continue ignores its failure.
	Continue bool `json:"continue,omitempty"`
}

// Backend is where the engine keeps the state itself. The server's state follows it: PUT /v1/backend.
type Backend struct {
	// Type of it; empty when the code sets it.
	Type string `json:"type,omitempty"`
	// FromCode, beside a Type, takes the code's own backend block where there is one. Without a block Type and Config
	// are all, and they complete one of that type that lacks an argument which it needs.
	FromCode bool `json:"fromCode,omitempty"`
	// Config are its arguments, and ConfigDirs folders below the runner's inputs folder each of whose files is one
	// more, all secret. A later one wins.
	Config     map[string]json.RawMessage `json:"config,omitempty"`
	ConfigDirs []string                   `json:"configDirs,omitempty"`
	// Create creates what the backend keeps states in when it is missing.
	Create bool `json:"create,omitempty"`
}

// Interrupt is why an attempt is to stop.
type Interrupt struct {
	// Reason for users. Example: canceled by alice.
	Reason string `json:"reason"`
}

// ModuleCredentials are for one host, and are never shown to another.
type ModuleCredentials struct {
	// Host, with the port if it has one. Example: git.example.com.
	Host string `json:"host"`
	// Dir below the runner's inputs folder, with the files of a Secret that internal/source/git/credentials reads.
	Dir string `json:"dir"`
}

// VariableFiles are a folder whose *.tfvars and *.tfvars.json files are given to the engine in name order, or one file
// of the code. One of Dir and Path is set.
type VariableFiles struct {
	// Dir below the runner's inputs folder.
	Dir string `json:"dir,omitempty"`
	// Path of a file within the code's archive.
	Path string `json:"path,omitempty"`
	// Secret values are kept out of logs and reports.
	Secret bool `json:"secret,omitempty"`
}

// Variable is one value: Value, or the content of File as a string, or an output of another Stack.
type Variable struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	// File below the runner's inputs folder, and its name for users. Example: key password of Secret db.
	File string `json:"file,omitempty"`
	From string `json:"from,omitempty"`
	// Stack and Output name an output to ask the server for: GET /v1/outputs/{stack}/{output}. A Stack of another
	// namespace is namespace/name.
	Stack  string `json:"stack,omitempty"`
	Output string `json:"output,omitempty"`
	// Secret values are kept out of logs and reports.
	Secret bool `json:"secret,omitempty"`
}
