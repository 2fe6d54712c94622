// Package userapi has the types of the user API, between the server and its users: what it answers beside what
// Kubernetes does, and the client of the `cairn` command. It is independent of Kubernetes; the user's credentials are
// in the transport that a Client is created with.
//
//	GET  /api/v1/namespaces/{ns}/runs/{run}/plan?format=F              what a Run would do: "view" (a plan.View, what is
//	                                                                   answered without F), "text" as the engine printed
//	                                                                   it, "json" as the engine prints it; all without
//	                                                                   secrets. Needs get on runs/plan
//	GET  /api/v1/namespaces/{ns}/runs/{run}/logs?attempt=N&offset=B    the log of an attempt or, without N, of all of them
//	                                                                   in order, from byte B on; with follow=true also what
//	                                                                   comes, until it is over. With of=operations, what the
//	                                                                   apply of attempt N did to each resource: lines of
//	                                                                   JSON. Needs get on runs/logs
//	GET  /api/v1/namespaces/{ns}/states/{state}/versions/{n}           a version of a state; n may be "current". Needs pull
//	                                                                   on states, as the ones below need theirs
//	GET  /api/v1/namespaces/{ns}/states/{state}/journal                what its journal has, beside the current version: a
//	                                                                   Journal. Needs pull on states
//	GET  /api/v1/{kind}                                                a Page of rows, of all namespaces that the user may list
//	                                                                   in, or of one: /api/v1/namespaces/{ns}/...; q searches,
//	                                                                   sort=-created sorts, limit and after cut, all else
//	                                                                   filters. Needs list on the kind
//	GET  /api/v1/namespaces/{ns}/{kind}/{name}                         a Detail. Needs get
//	GET  /api/v1/resources                                             Resources: a Page of what the states have, by their indexes,
//	                                                                   of all namespaces or of one. Needs pull on states
//	GET  /api/v1/activity?since=168h&step=3h                           an Activity. Needs list on runs
//	GET  /api/v1/changes                                               Changes as they come, as server-sent events
//	GET  /api/v1/me                                                    Me
//	GET  /api/v1/version                                               Build
//	GET  /api/v1/signin                                                SignIn, for anybody
//	POST /api/v1/session                                               Session: signs in, by a cookie; 204. DELETE signs out
//	GET  /api/v1/namespaces/{ns}/{kind}/{name}/access                  Access. Needs get, as the next one
//	GET  /api/v1/namespaces/{ns}/{kind}/{name}/events                  Events
//	POST /api/v1/namespaces/{ns}/runs/{run}/approve                    Approval; answers a Detail, as the ones below. Also reject
//	                                                                   (Rejection) and cancel. Each needs patch and its verb
//	POST /api/v1/namespaces/{ns}/stacks/{stack}/apply                  also plan, destroy, retry, suspend, resume
//	POST /api/v1/namespaces/{ns}/repositories/{repository}/fetch       asks for a fetch
//	GET  /api/v1/openapi.json                                          all this for programs; for anybody
//	POST /api/v1/namespaces/{ns}/states/{state}/versions?force=true    push: the body is the next version; StateVersion
//	POST /api/v1/namespaces/{ns}/states/{state}/rollback               Rollback; answers StateVersion. It and push take
//	                                                                   current=N: 409 when N is not the current version
//	POST /api/v1/namespaces/{ns}/states/{state}/unlock                 Unlock; 204
//	GET  /api/v1/namespaces/{ns}/states/{state}/backend                the http backend of engines, for a user outside of the cluster; also
//	                                                                   POST, LOCK and UNLOCK. The bearer token may be the password of
//	                                                                   basic authentication. Needs pull to read, push to lock and write,
//	                                                                   and unlock for a lock of another user
//	POST /api/v1/namespaces/{ns}/states/{state}/restore                Restore; answers StateVersion
//	POST /api/v1/namespaces/{ns}/states/{state}/migrate                lets the state move to where its Stack says now; StateMove. It takes
//	                                                                   current=N
//	POST /api/v1/namespaces/{ns}/states/{state}/recover                the body is the log of a pod that a state was printed
//	                                                                   to; answers StateVersion
//
// A request has its user's credentials for Kubernetes: a bearer token or a client certificate, or the cookie of a
// session; and the headers Impersonate-User, -Group, -Uid and -Extra- of who may impersonate. Errors are a Problem (RFC
// 9457): 401 who is not known there, 403 with the verb that is missing, 404 not found, 409 a conflict with the current
// version, 422 what Cairn cannot read, 423 what is locked or at work, 503 what may work in a moment.
package userapi

import "fmt"

// Error is the server's response to a request that failed.
type Error struct {
	// Code is the HTTP status.
	Code int
	// Message is the body of the answer: a sentence for the user.
	Message string
}

func (e *Error) Error() string { return e.Message }

// StateMove is a move of a state from one backend to another.
type StateMove struct {
	StateVersion
	// The type of the backend that has the state. Absent if Cairn has it.
	From string `json:"from,omitempty"`
	// The type of the backend into which the next plan writes the state. Absent if Cairn stores it, which it does at
	// once.
	To string `json:"to,omitempty"`
}

// StateVersion is a version of a state.
type StateVersion struct {
	// The version, from 1.
	Version int64 `json:"version"`
	// The serial, as the engine counts it.
	Serial int64 `json:"serial"`
	// The number of resource instances; -1 if the engine encrypts the state.
	Resources int32 `json:"resources"`
}

// Journal lists resource changes of applies that the state may lack.
type Journal struct {
	// The resources.
	Resources []JournalResource `json:"resources"`
}

// JournalResource is the last entry of a journal for an address.
type JournalResource struct {
	// The address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// The type of the resource. Example: aws_subnet.
	Type string `json:"type"`
	// The last action: create, update or delete.
	Action string `json:"action"`
	// The attribute that identifies the resource. Absent if the engine reported none, for example because it is
	// sensitive.
	IDKey string `json:"idKey,omitempty"`
	// The value of that attribute.
	ID string `json:"id,omitempty"`
	// The Run that changed the resource.
	Run string `json:"run"`
	// The number of its attempt.
	Attempt int32 `json:"attempt"`
	// InState, Missing (the next plan imports it), TakenOut (a version of the state had it, and a user removed it),
	// Destroyed, or Unknown if the engine encrypts the state.
	Standing string `json:"standing"`
}

// Restore restores the backup of a state that Cairn does not restore by itself, or discards it.
type Restore struct {
	// Whether to discard the backup. The State stays as it is.
	Forget bool `json:"forget,omitempty"`
}

// Rollback creates a new version with the content of an earlier one.
type Rollback struct {
	// The earlier version.
	Version int64 `json:"version"`
}

// Unlock removes a lock whose holder has ended.
type Unlock struct {
	// The ID of the lock. The server rejects another one.
	ID string `json:"id"`
}

// Forms of a plan.
const (
	FormView = "view"
	FormText = "text"
	FormJSON = "json"
)

// OfOperations selects, in place of the log of an attempt, what its apply did to each resource.
const OfOperations = "operations"

// Current names the current version of a state in a path.
const Current = "current"

// Rescued names, in a path, the state that an attempt could not save and that is no version yet.
const Rescued = "rescued"

// LogOptions select a part of a Run's log.
type LogOptions struct {
	// Attempt of the Run; 0 is all of them, one after the other.
	Attempt int32
	// Offset is how many bytes are left out: those that a reader has already.
	Offset int64
	// Follow waits for more until the attempt is over, or the Run.
	Follow bool
}

// Where a server publishes its address: a ConfigMap that every authenticated user of the cluster may read.
const (
	PublicNamespace = "kube-public"
	PublicName      = "cairn"
	// PublicURL and PublicCA are its keys: the server's URL, and the PEM of the authorities of its certificate.
	PublicURL = "url"
	PublicCA  = "ca.crt"
)

// The largest answers and bodies.
const (
	// LargestState is how large a state may be.
	LargestState = 256 << 20
	// LargestJournal is how large a journal may be.
	LargestJournal = 128 << 20
	// LargestPlan is how large a form of a plan may be.
	LargestPlan = 64 << 20
	// LargestLog is how much of a pod's log is looked through for a rescued state.
	LargestLog = 1 << 30
	// largestList is how large a page of a list may be.
	largestList = 16 << 20
	// largestMessage is how much is read of an answer that is an error.
	largestMessage = 64 << 10
)

// tooLarge is an answer or a body past its bound.
func tooLarge(what string, limit int64) error {
	return fmt.Errorf("%s is larger than %d MiB", what, limit>>20)
}
