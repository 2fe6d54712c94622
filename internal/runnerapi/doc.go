// Package runnerapi has the types of the runner API, over HTTP between a runner and the server, and the runner's
// client. It knows nothing of Kubernetes, so that the runner stays small.
//
//	GET    /v1/order?after=N&wait=D   the next Order for the pod that asks; held for up to 30 s while there is none
//	GET    /v1/sources/{digest}       the Stack's code, tar.gz
//	GET    /v1/state                  the state; 404 when there is none       (the engine's http backend protocol)
//	POST   /v1/state?ID=lock          a new version of it; 409 stale, 423 not the holder
//	LOCK   /v1/state                  take the lock, for an apply or a shell; 423 with the holder's info when it is held
//	UNLOCK /v1/state                  give it back
//	PUT    /v1/backend?type=T         what the Stack's own backend has, or nothing: the state follows it, and the answer, a Followed, says what
//	                                  is still to be done; 409 when nobody but a person can tell which of the two is right
//	PUT    /v1/plan                   keep a saved plan; answers PlanKept
//	GET    /v1/plan/{digest}          the saved plan
//	PUT    /v1/plan/{digest}/document what the engine prints of it, and what of that users may not see: PlanDocument
//	GET    /v1/plan/{digest}/json     the engine's JSON of it, without secrets
//	POST   /v1/policy/{digest}        ask the policies about a plan whose document is kept: Verdict
//	GET    /v1/interrupt              held while the attempt is to go on: 204 after a while; Interrupt when it is to stop
//	PUT    /v1/inputs                 keep the variable files that an apply is about to use, or that a plan found to change
//	                                  nothing: InputsKept
//	GET    /v1/inputs                 those that were kept for the inputs of this Run, for a destroy
//	GET    /v1/outputs/{stack}/{output}
//	                                  an output of another Stack that a variable takes its value from: Output
//	GET    /v1/engines/{name}?version=constraint
//	                                  the newest engine that meets a constraint: EngineRelease. With &wait=2s a Download, and
//	                                  code 202, when the server has it not within that time: ask again
//	GET    /v1/engines/{name}/{version}
//	                                  its program; both take ?os= and &arch=, and answer 422 when there is none and 424
//	                                  when it is not what its maker signed
//	GET    /v1/providers/...          the provider network mirror protocol; with ?wait=2s a Download too
//	POST   /v1/journal?batch=N        what an apply has done since it sent batch N-1, as it does it: JournalEntries; a batch that
//	                                  is sent again is the same. Also from an attempt that was given up as lost, until another one begins
//	GET    /v1/journal                what applies have done of which it is not known that the state has it, oldest first:
//	                                  JournalEntries
//	PUT    /v1/rescue                 keep a state that could not be written
//	POST   /v1/outputs                write the outputs: Outputs; 409 when an object of that name is not Cairn's
//	POST   /v1/steps                  a Report
//	POST   /v1/logs?offset=N          append to the attempt's log; 409 with the wanted offset when N is not it, also
//	                                  in the header Cairn-Log-Offset
//	POST   /v1/operations?offset=N    append to the operations of an apply, in the same way: lines, each an Operation
//
// Every request carries the pod's token (audience "cairn"), in the header Cairn-Attempt the number of the attempt it is
// sent for, and in the header Cairn-Session the key of the runner's session. The server answers 403 when the Run does
// not name that pod as that attempt's. Errors are plain text. A request answered with 429 or 5xx may be sent again.
//
// The token alone is not enough, because all programs in the pod can read it. The runner generates the key before it
// starts any of them, and keeps it in memory. The server binds the pod to the first key that it receives, before it
// sends an order, and rejects requests of the pod with another key or none: 403 with the reason OtherSession.
package runnerapi

import "encoding/json"

// Audience of the runner's token.
const Audience = "cairn"

// ProviderImages is the folder, below the inputs folder of the runner, with a folder for each image of providers.
const ProviderImages = "providers"

// AttemptHeader carries the number of the attempt that a request is sent for.
const AttemptHeader = "Cairn-Attempt"

// SessionHeader carries the key of the runner's session.
const SessionHeader = "Cairn-Session"

// ReasonHeader carries the reason of an error, where it has one.
const ReasonHeader = "Cairn-Reason"

// ReasonOtherSession is the reason of an error for a request without the key that its pod is bound to.
const ReasonOtherSession = "OtherSession"

// ExitStranded is the exit code of a runner whose engine could not write its state, which the server did not take as a
// rescued one either, and who could not even report that. The state is in the pod's log.
const ExitStranded = 73

// DockerConfig is the name of the file that builders read their credentials from.
const DockerConfig = "config.json"

// Locked answers a LOCK of a state.
type Locked struct {
	// Base is the SHA256 of the version that is current; empty when there is none.
	Base string `json:"base,omitempty"`
}

// Rescued answers a PUT of a rescued state.
type Rescued struct {
	// Forked is what to do about a state that continues another version than the current one; empty when it does not.
	Forked string `json:"forked,omitempty"`
}

// Followed is what is still to be done after the server saw what a backend has.
type Followed struct {
	// Push: the server's state, GET /v1/state, is to be put into the backend, which has none or an older one.
	Push bool `json:"push,omitempty"`
	// Force is true when what it has is a copy of that with another lineage, which the engine writes over only by
	// force.
	Force bool `json:"force,omitempty"`
	// Wrote is true when what the backend has became the next version.
	Wrote bool `json:"wrote,omitempty"`
	// Moved names the user who had the state moved there, once it is.
	Moved string `json:"moved,omitempty"`
}

// PlanKept answers a PUT of a plan.
type PlanKept struct {
	Digest string `json:"digest"`
}

// InputsKept are the variable files, by name, as they were given to the engine. A destroy gets them back, in the order
// of their names.
type InputsKept struct {
	Files map[string][]byte `json:"files"`
}

// EngineRelease is an engine that the server has, checked against its maker's signature or, if Unsigned, against a
// digest in the configuration of the installation.
type EngineRelease struct {
	Version string `json:"version"`
	// Digest and Size of its program.
	Digest   string `json:"digest"`
	Size     int64  `json:"size"`
	Unsigned bool   `json:"unsigned,omitempty"`
}

// Outputs are all outputs of the code.
type Outputs map[string]Output

// Output is one output of the code.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive,omitempty"`
}
