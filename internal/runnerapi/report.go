package runnerapi

import (
	"encoding/json"
	"time"
)

// Interrupted is the message of a failure with ReasonInterrupted.
const Interrupted = "interrupted"

// Report is what an attempt has done so far: the whole of it each time, so that one may be lost or sent twice.
type Report struct {
	Steps []Step `json:"steps"`
	// Done is set once, in the last report of the attempt.
	Done *Done `json:"done,omitempty"`
}

// Step is a step of an attempt.
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
	// Image is the digest of the image that a build has pushed.
	Image string `json:"image,omitempty"`
	// Outputs that are not sensitive, when they were asked for.
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	// Changed is how many resources an apply that failed has changed.
	Changed *int32 `json:"changed,omitempty"`
	// Saved is true when an apply ended, well or not, and the state has all it did: the journal is not needed any more.
	Saved bool `json:"saved,omitempty"`
	// Settled is set when a plan found nothing that is still to be taken into the state in the journal, which it read
	// up to there.
	Settled string `json:"settled,omitempty"`
}

// Failure is why an attempt did not succeed.
type Failure struct {
	// Class: Transient, ConfigurationError, PolicyDenied, Canceled or StateNotSaved (see ExitStranded).
	Class string `json:"class"`
	// Reason is one of those of this package, or empty where the class is sufficient.
	Reason string `json:"reason,omitempty"`
	// Message is the engine's first error, without secrets.
	Message string `json:"message"`
}

// Plan is what a plan would do. A replacement counts in Add, in Destroy and in Replace.
type Plan struct {
	Digest    string           `json:"digest"`
	Changes   bool             `json:"changes"`
	Add       int32            `json:"add"`
	Change    int32            `json:"change"`
	Destroy   int32            `json:"destroy"`
	Replace   int32            `json:"replace"`
	Import    int32            `json:"import"`
	Forget    int32            `json:"forget"`
	Invoke    int32            `json:"invoke,omitempty"`
	Refresh   int32            `json:"refresh,omitempty"`
	Resources []ResourceChange `json:"resources,omitempty"`
	// Secrets are the secret values in addresses of resources: the server takes the addresses from the plan file.
	Secrets []string `json:"secrets,omitempty"`
	// Partial is why the plan does not have all changes of the code; the server sets it.
	Partial string `json:"partial,omitempty"`
	// Fingerprint is the same for plans that do the same; the server sets it.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Shape is the same for plans that change the same, with whatever values; the server sets it.
	Shape string `json:"shape,omitempty"`
	// Outputs are the first changes of outputs by name, and MoreOutputs is the number of others; the server sets them.
	Outputs     []OutputChange `json:"outputs,omitempty"`
	MoreOutputs int32          `json:"moreOutputs,omitempty"`
	// Differences are all changes with their attributes, of a Run that only plans; the server sets it.
	Differences []Difference `json:"differences,omitempty"`
	// EngineVersion is the exact version that created the plan; only it applies it.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Wrapped is the engine that Terragrunt ran to create the plan, if it did.
	Wrapped *WrappedEngine `json:"wrapped,omitempty"`
	// StateOnly is true when the apply changes nothing, and writes the state all the same: the code encrypts it in
	// another way, or it has resources that no longer exist.
	StateOnly bool `json:"stateOnly,omitempty"`
	// Script is true when the order names a script to apply it with.
	Script bool `json:"script,omitempty"`
	// Unverified is why the server could not read the plan file; the server sets it.
	Unverified string `json:"unverified,omitempty"`
	// Untracked are resources that an apply created which was killed, and that could not be taken into the state.
	Untracked []UntrackedResource `json:"untracked,omitempty"`
}

// OutputChange is what a plan would do to one output. It has no value.
type OutputChange struct {
	Name string `json:"name"`
	// Action: create, update, delete.
	Action    string `json:"action"`
	Known     bool   `json:"known,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// OnlyState summarizes a plan with StateOnly.
const OnlyState = "only the state changes"

// ResourceChange is what a plan would do to one resource.
type ResourceChange struct {
	Address string `json:"address"`
	// Action: create, update, delete, replace, import, forget, move, invoke, refresh.
	Action string `json:"action"`
}

// Difference is what a plan would do to one resource or output.
type Difference struct {
	Address    string   `json:"address"`
	Action     string   `json:"action"`
	Attributes []string `json:"attributes,omitempty"`
}
