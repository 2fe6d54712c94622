package userapi

import "time"

// Access is what the caller may do with an object by the roles of Kubernetes. Whether it has an effect now depends on the object.
type Access struct {
	Actions map[string]bool `json:"actions"`
}

// An Approval is of the plan with that digest, and of no other.
type Approval struct {
	PlanDigest string `json:"planDigest"`
}

// A Rejection ends a Run whose plan waits.
type Rejection struct {
	// Message is the reason, for the users who wanted the change.
	Message string `json:"message,omitempty"`
	// PlanDigest is that of the plan that was read; without it the one that the Run has now.
	PlanDigest string `json:"planDigest,omitempty"`
}

// Events are the Kubernetes events of an object, the newest first.
type Events struct {
	Items []Event `json:"items"`
}

// Event was recorded Count times, at First and at last at Last.
type Event struct {
	// Type is Normal or Warning.
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}
