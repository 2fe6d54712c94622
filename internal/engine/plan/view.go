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
	// Invoke is an action of a provider, such as the call of a function, which no state records.
	Invoke = "invoke"
	// Refresh is of a plan with -refresh-only: the state gets what changed outside of the engine, and the resource
	// stays as it is.
	Refresh = "refresh"
	// Read is a data source that is read during the apply. It changes nothing, and is shown only when nothing else
	// is.
	Read = "read"
)

// gravest lists actions as a reader wants them: those that destroy first.
var gravest = []string{Delete, Replace, Forget, Invoke, Update, Create, Import, Refresh, Move, Read}

// View is the content of a plan.
type View struct {
	// The version of the engine that created the plan.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Whether the apply only writes to the state what changed outside of Cairn (-refresh-only). The changes are that.
	RefreshOnly bool `json:"refreshOnly,omitempty"`
	// The changes of resources and the actions that are invoked, in the order delete, replace, forget, invoke, update,
	// create, import, refresh, move. Without any, the data sources that would be read.
	Changes []Change `json:"changes,omitempty"`
	// The outputs that would change, by name.
	Outputs []Output `json:"outputs,omitempty"`
}

// Change is the change of one resource.
type Change struct {
	// The address of the resource. Example: module.net["a"].aws_subnet.b[0].
	Address string `json:"address"`
	// The previous address of a resource that is moved.
	Previous string `json:"previous,omitempty"`
	// The key of a deposed object, which an earlier replacement left; the change is for this object.
	Deposed string `json:"deposed,omitempty"`
	// One of delete, replace, forget, invoke, update, create, import, refresh, move or read.
	Action string `json:"action"`
	// Whether a replacement creates the new resource before it destroys the old one.
	CreateFirst bool `json:"createFirst,omitempty"`
	// The reason for the action as text, if the engine reports one.
	Reason string `json:"reason,omitempty"`
	// The type of the resource. Example: aws_subnet.
	Type string `json:"type,omitempty"`
	// The module of the resource. Absent for the root module.
	Module string `json:"module,omitempty"`
	// The provider of the resource. Example: registry.opentofu.org/hashicorp/aws.
	Provider string `json:"provider,omitempty"`
	// The ID by which the resource is imported, or its identity in JSON.
	Importing string `json:"importing,omitempty"`
	// For create and delete, the attributes that have a value; for update and replace, those that change.
	Attributes []Attribute `json:"attributes,omitempty"`
	// The number of attributes that do not change and are not listed.
	Unchanged int `json:"unchanged,omitempty"`
}

// Output is the change of one output.
type Output struct {
	// The name of the output.
	Name string `json:"name"`
	// One of delete, update and create.
	Action string `json:"action"`
	// The parts of its value that change; their paths begin with the name of the output.
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is one value of a resource before and after a change.
type Attribute struct {
	// The path within the resource. Examples: cidr, tags["Name"], ingress[0].cidr.
	Path string `json:"path"`
	// The value before the change, as JSON. Absent if there is none; "(sensitive value)" for a sensitive one.
	Before json.RawMessage `json:"before,omitempty"`
	// The value after the change, in the same way.
	After json.RawMessage `json:"after,omitempty"`
	// Whether the value is sensitive.
	Sensitive bool `json:"sensitive,omitempty"`
	// Whether the value is known only after the apply.
	Unknown bool `json:"unknown,omitempty"`
	// Whether this change forces the replacement of the resource.
	Forces bool `json:"forces,omitempty"`
}
