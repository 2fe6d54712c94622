package userapi

import "time"

// Access lists the actions on an object that the roles of Kubernetes allow the caller. Whether an action is possible
// now depends on the status of the object.
type Access struct {
	// Each action, and whether the roles allow it.
	Actions map[string]bool `json:"actions"`
	// The actions that would have no effect if the caller requested them, each with the reason. For example
	// spec.preventSelfApproval denies the approval of a Run by a user who caused it.
	Denied map[string]string `json:"denied,omitempty"`
}

// An Approval approves one plan of a Run.
type Approval struct {
	// The digest of the plan that you read. The server rejects another one.
	PlanDigest string `json:"planDigest"`
}

// A Rejection rejects the plan of a Run, which ends the Run.
type Rejection struct {
	// The reason, for the author of the change.
	Message string `json:"message,omitempty"`
	// The digest of the plan that you read. The server rejects another one.
	PlanDigest string `json:"planDigest"`
}

// A Promotion promotes a release to a stage of a Pipeline.
type Promotion struct {
	// The name of the stage.
	Stage string `json:"stage"`
	// The commit of the release, as status.releases of the Pipeline has it.
	Release string `json:"release"`
}

// Events are the Kubernetes events of an object, newest first.
type Events struct {
	// The events.
	Items []Event `json:"items"`
}

// Event is an event of an object.
type Event struct {
	// Normal or Warning.
	Type string `json:"type"`
	// The reason, one word.
	Reason string `json:"reason"`
	// The message.
	Message string `json:"message"`
	// The number of times that the event was recorded.
	Count int32 `json:"count"`
	// The time of the first record.
	First time.Time `json:"first"`
	// The time of the last record.
	Last time.Time `json:"last"`
}
