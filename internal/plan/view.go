// Package plan formats an engine's plan in JSON (`show -json`) for users: without secrets, what ends a resource
// first, each attribute with its value before and after. It knows no Kubernetes and no server, so that the runner,
// the server and the command line show the same.
package plan

import "encoding/json"

// What a plan would do to a resource or to an output.
const (
	Delete  = "delete"
	Replace = "replace"
	Forget  = "forget"
	Update  = "update"
	Create  = "create"
	Import  = "import"
	Move    = "move"
	// Read is a data source that is read during the apply. It changes nothing, and is shown only when nothing else
	// is.
	Read = "read"
)

// gravest lists actions as a reader wants them: those that destroy first.
var gravest = []string{Delete, Replace, Forget, Update, Create, Import, Move, Read}

// View is what a plan would do.
type View struct {
	// EngineVersion is the version of the engine that created the plan.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Changes of resources, gravest first: delete, replace, forget, update, create, import, move. Where there are
	// none, the data sources that would be read.
	Changes []Change `json:"changes,omitempty"`
	// Outputs that would change, by name.
	Outputs []Output `json:"outputs,omitempty"`
}

// Change is what a plan would do to one resource.
type Change struct {
	// Address of the resource. Example: module.net["a"].aws_subnet.b[0].
	Address string `json:"address"`
	// Previous address, of a resource that is moved.
	Previous string `json:"previous,omitempty"`
	// Deposed is the key of an object that an earlier replacement left behind; the change is of that one.
	Deposed string `json:"deposed,omitempty"`
	// Action: delete, replace, forget, update, create, import, move or read.
	Action string `json:"action"`
	// CreateFirst: a replacement creates the new one before it ends the old one.
	CreateFirst bool `json:"createFirst,omitempty"`
	// Reason for the action, in words, where the engine has one.
	Reason string `json:"reason,omitempty"`
	// Type of the resource. Example: aws_subnet.
	Type string `json:"type,omitempty"`
	// Module it is in; empty is the root module.
	Module string `json:"module,omitempty"`
	// Provider it belongs to. Example: registry.opentofu.org/hashicorp/aws.
	Provider string `json:"provider,omitempty"`
	// Importing is the ID by which it is imported, or its identity in JSON; it may be changed at once.
	Importing string `json:"importing,omitempty"`
	// Attributes that have a value when it is created or deleted; those that change when it is updated or replaced.
	Attributes []Attribute `json:"attributes,omitempty"`
	// Unchanged is how many attributes are left out because they stay as they are.
	Unchanged int `json:"unchanged,omitempty"`
}

// Output is what a plan would do to one output.
type Output struct {
	Name string `json:"name"`
	// Action: delete, update or create.
	Action string `json:"action"`
	// Attributes of its value that change; their paths begin with its name.
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is one value of a resource before and after a change.
type Attribute struct {
	// Path within the resource. Examples: cidr, tags["Name"], ingress[0].cidr.
	Path string `json:"path"`
	// Before and After are JSON; absent where there is no such value. Of a sensitive one they are "(sensitive value)".
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Sensitive values are not shown.
	Sensitive bool `json:"sensitive,omitempty"`
	// Unknown: the value is known after the apply; there is no After.
	Unknown bool `json:"unknown,omitempty"`
	// Forces: the change of this attribute forces the replacement.
	Forces bool `json:"forces,omitempty"`
}
