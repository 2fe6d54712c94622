// Package store is the language between runner and store: what is asked, ordered and reported over HTTP. It knows
// nothing of Kubernetes, so that the runner stays small.
//
//	GET    /v1/order?after=N&wait=D   the next Order for the pod that asks; held for up to 30 s while there is none
//	GET    /v1/sources/{digest}       the Stack's code, tar.gz
//	GET    /v1/state                  the state; 404 when there is none       (the engine's http backend protocol)
//	POST   /v1/state?ID=lock          a new version of it; 409 stale, 423 not the holder
//	LOCK   /v1/state                  take the lock, for an apply or a shell; 423 with the holder's info when it is held
//	UNLOCK /v1/state                  give it back
//	PUT    /v1/plan                   keep a saved plan; answers PlanKept
//	GET    /v1/plan/{digest}          the saved plan
//	PUT    /v1/plan/{digest}/{form}   keep a form of it for people: "json", what the engine tells of it, or "text"; both
//	                                  without secrets
//	POST   /v1/policy/{digest}        ask the policies about a plan whose json is kept: Verdict
//	GET    /v1/interrupt              held while the attempt is to go on: 204 after a while; Interrupt when it is to stop
//	PUT    /v1/inputs                 keep the variable files that an apply is about to use, or that a plan found to change
//	                                  nothing: InputsKept
//	GET    /v1/inputs                 those that were kept for the inputs of this Run, for a destroy
//	GET    /v1/outputs/{stack}/{output}
//	                                  an output of another Stack that a variable takes its value from: Output
//	GET    /v1/engines/{name}?version=constraint
//	                                  the newest engine that meets a constraint: EngineRelease
//	GET    /v1/engines/{name}/{version}
//	                                  its program; both take ?os= and &arch=, and answer 422 when there is none and 424
//	                                  when it is not what its maker signed
//	GET    /v1/providers/...          the provider network mirror protocol
//	POST   /v1/journal?batch=N        what an apply has done since it sent batch N-1, as it does it: JournalEntries; a batch that
//	                                  is sent again is the same. Also from an attempt that was given up as lost, until another one begins
//	GET    /v1/journal                what applies have done of which it is not known that the state has it, oldest first:
//	                                  JournalEntries
//	PUT    /v1/rescue                 keep a state that could not be written
//	POST   /v1/outputs                write the outputs: Outputs; 409 when an object of that name is not Cairn's
//	POST   /v1/steps                  a Report
//	POST   /v1/logs?offset=N          append to the attempt's log; 409 with the wanted offset when N is not it, also
//	                                  in the header Cairn-Log-Offset
//
// Every request carries the pod's token (audience "cairn") and, in the header Cairn-Attempt, the number of the attempt
// it is made for. The store answers 403 when the Run does not name that pod as that attempt's. Errors are plain text.
// A request answered with 429 or 5xx may be sent again.
package store

import (
	"encoding/json"
	"time"
)

// Audience of the runner's token.
const Audience = "cairn"

// AttemptHeader carries the number of the attempt that a request is made for.
const AttemptHeader = "Cairn-Attempt"

// ExitStranded is the exit code of a runner whose engine could not write its state, which the store did not take as a
// rescued one either, and who could not even report that. The state is in the pod's log.
const ExitStranded = 73

// Interrupted is the message of the failure of an attempt whose runner was told to end, and knows no more than that.
const Interrupted = "interrupted"

// OrderKind is what a runner is told to do next.
type OrderKind string

// What a runner is told to do next.
const (
	// OrderWait: nothing yet; ask again.
	OrderWait OrderKind = "Wait"
	// OrderPlan: fetch, init, plan, keep the plan, report.
	OrderPlan OrderKind = "Plan"
	// OrderApply: apply the kept plan whose digest is PlanDigest, write the outputs, report.
	OrderApply OrderKind = "Apply"
	// OrderShell: fetch, init, hold the pod for a person to work in, report.
	OrderShell OrderKind = "Shell"
	// OrderExit: the pod is no longer needed.
	OrderExit OrderKind = "Exit"
)

// Order tells a runner what to do.
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
	// Source is the digest of the code's archive.
	Source string `json:"source,omitempty"`
	// Path of the root module within the archive, with slashes; empty is the archive's root.
	Path string `json:"path,omitempty"`
	// Engine that does it: OpenTofu, Terraform or Terragrunt.
	Engine string `json:"engine,omitempty"`
	// EngineVersion is a constraint that the engine must meet; empty takes any. An apply names the plan's very version.
	EngineVersion string `json:"engineVersion,omitempty"`
	// VariableFiles are given to the engine in this order, before Variables.
	VariableFiles []VariableFiles `json:"variableFiles,omitempty"`
	// Variables win over VariableFiles; a later one wins over an earlier one.
	Variables []Variable `json:"variables,omitempty"`
	// Operation, Revision and Cause are for the environment of hooks: Apply, Plan, Destroy or Shell; the source's name for people; why
	// there is this Run.
	Operation string `json:"operation,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Cause     string `json:"cause,omitempty"`
	// Hooks in the order in which they run where several are at the same place.
	Hooks []Hook `json:"hooks,omitempty"`
	// Policy says that there are policies to ask about a plan that has changes: POST /v1/policy.
	Policy bool `json:"policy,omitempty"`
	// SecretEnv names the environment variables of the runner whose values are secret.
	SecretEnv []string `json:"secretEnv,omitempty"`
	// SecretDirs are folders below the runner's inputs folder; every file in them holds a secret value.
	SecretDirs []string `json:"secretDirs,omitempty"`
	// Providers says that the store has a mirror of providers, which the engine's init gets them from: GET /v1/providers/.
	Providers bool `json:"providers,omitempty"`
	// PlanDigest of the plan to apply.
	PlanDigest string `json:"planDigest,omitempty"`
	// Outputs asks for the outputs to be sent after the apply, or after a plan without changes.
	Outputs bool `json:"outputs,omitempty"`
	// Timeout of the attempt.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Patience is how long the runner keeps trying a store that does not answer or answers 429 or 5xx.
	Patience time.Duration `json:"patience,omitempty"`
	// ModuleCredentials are for the hosts that the code fetches modules from with git.
	ModuleCredentials []ModuleCredentials `json:"moduleCredentials,omitempty"`
	// Recipient is the install's public key (age). A state that can be sent nowhere goes to the pod's log, encrypted to it.
	Recipient string `json:"recipient,omitempty"`
}

// Hook is a script around a step.
type Hook struct {
	// Step that it is around, and When: Before or After.
	Step string `json:"step"`
	When string `json:"when"`
	// Script itself, all of it.
	Script string `json:"script"`
	// Continue goes on when it fails.
	Continue bool `json:"continue,omitempty"`
}

// Interrupt says why an attempt is to stop.
type Interrupt struct {
	// Reason for people. Example: canceled by alice.
	Reason string `json:"reason"`
}

// Verdict is what the policies say of a plan.
type Verdict struct {
	// Checked is how many were asked.
	Checked int32 `json:"checked"`
	// Findings, those that refuse the plan first. There are no more than 200.
	Findings []Finding `json:"findings,omitempty"`
	// MoreDenied and MoreWarned are how many others there were.
	MoreDenied int `json:"moreDenied,omitempty"`
	MoreWarned int `json:"moreWarned,omitempty"`
}

// Denied counts the findings that refuse the plan.
func (v Verdict) Denied() int { return v.MoreDenied + v.count(Deny) }

// Warned counts the findings that only warn.
func (v Verdict) Warned() int { return v.MoreWarned + v.count(Warn) }

func (v Verdict) count(action string) int {
	n := 0
	for _, f := range v.Findings {
		if f.Action == action {
			n++
		}
	}
	return n
}

// What a finding does.
const (
	Deny = "Deny"
	Warn = "Warn"
)

// Finding is one thing that a policy has to say.
type Finding struct {
	// Policy that says it. Example: rules/tags.rego.
	Policy string `json:"policy"`
	// Action: Deny or Warn.
	Action string `json:"action"`
	// Message for a person.
	Message string `json:"message"`
}

// ModuleCredentials are for one host, and are never shown to another.
type ModuleCredentials struct {
	// Host, with the port if it has one. Example: git.example.com.
	Host string `json:"host"`
	// Dir below the runner's inputs folder, with the files of a Repository's credentials: username and password, or
	// bearerToken, or identity and known_hosts.
	Dir string `json:"dir"`
}

// VariableFiles are a folder whose *.tfvars and *.tfvars.json files are given to the engine in name order, or one file of
// the code. One of Dir and Path is set.
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
	// File below the runner's inputs folder, and what a person calls it. Example: key password of Secret db.
	File string `json:"file,omitempty"`
	From string `json:"from,omitempty"`
	// Stack and Output name an output to ask the store for: GET /v1/outputs/{stack}/{output}.
	Stack  string `json:"stack,omitempty"`
	Output string `json:"output,omitempty"`
	// Secret values are kept out of logs and reports.
	Secret bool `json:"secret,omitempty"`
}

// Report is what an attempt has done so far: the whole of it each time, so that one may be lost or sent twice.
type Report struct {
	Steps []Step `json:"steps"`
	// Done is set once, in the last report of the attempt.
	Done *Done `json:"done,omitempty"`
}

// Step is a thing an attempt does.
type Step struct {
	Name       string     `json:"name"`
	State      string     `json:"state"` // Waiting, Running, Succeeded, Failed, Skipped
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	ExitCode   *int32     `json:"exitCode,omitempty"`
	// Message is one line, without secrets.
	Message string `json:"message,omitempty"`
}

// Done is the end of an attempt: a Failure or, after a plan, the Plan, or nothing more after an apply.
type Done struct {
	Failure *Failure `json:"failure,omitempty"`
	Plan    *Plan    `json:"plan,omitempty"`
	// Outputs that are not sensitive, when they were asked for.
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	// Changed is how many resources an apply that failed has changed.
	Changed *int32 `json:"changed,omitempty"`
	// Saved says that an apply got to its end, well or not, and that the state has all it did: nobody needs a journal any more.
	Saved bool `json:"saved,omitempty"`
	// Settled says that a plan found nothing that is still to be taken into the state in the journal, which it read up to there.
	Settled string `json:"settled,omitempty"`
}

// Failure says why an attempt did not succeed.
type Failure struct {
	// Class: Transient, Config, Policy, Canceled or Stranded (see ExitStranded).
	Class string `json:"class"`
	// Message is the engine's first error, without secrets.
	Message string `json:"message"`
}

// Plan is what a plan would do. Add, Change, Destroy and Replace do not overlap.
type Plan struct {
	Digest    string           `json:"digest"`
	Changes   bool             `json:"changes"`
	Add       int32            `json:"add"`
	Change    int32            `json:"change"`
	Destroy   int32            `json:"destroy"`
	Replace   int32            `json:"replace"`
	Import    int32            `json:"import"`
	Forget    int32            `json:"forget"`
	Resources []ResourceChange `json:"resources,omitempty"`
	// EngineVersion is the exact version that made the plan; only it applies it.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Orphaned are resources that an apply made which was killed, and that could not be taken into the state.
	Orphaned []Orphan `json:"orphaned,omitempty"`
}

// ResourceChange is what a plan would do to one resource.
type ResourceChange struct {
	Address string `json:"address"`
	// Action: create, update, delete, replace, import, forget, move.
	Action string `json:"action"`
}

// PlanKept answers a PUT of a plan.
type PlanKept struct {
	Digest string `json:"digest"`
}

// InputsKept are the variable files, by name, as they were given to the engine. A destroy gets them back, in the order of
// their names.
type InputsKept struct {
	Files map[string][]byte `json:"files"`
}

// EngineRelease is an engine that the store has, checked against its maker's signature.
type EngineRelease struct {
	Version string `json:"version"`
	// Digest and Size of its program.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Outputs are all outputs of the code.
type Outputs map[string]Output

// Output is one output of the code.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive,omitempty"`
}
