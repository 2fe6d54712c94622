// Package migrate makes Cairn's objects from those of other systems that run OpenTofu and Terraform on Kubernetes, and says of every field
// what it became, or why it became nothing. It knows no cluster and no clock: the same objects give the same result.
//
// One file has one system; kinds.go lists them all. What a converter does not speak of is found by the frame (object.go) and told as
// not known: nothing is dropped silently.
package migrate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Result is what the objects of other systems became.
type Result struct {
	// Repositories and Stacks, each list by namespace and name.
	Repositories []v1alpha1.Repository
	Stacks       []v1alpha1.Stack
	// Notes say of each field of each object what became of it; those of an object are together.
	Notes []Note
	// made says of which object a Stack was made, by namespace and name; those that were Cairn's already are not in it.
	made map[types.NamespacedName]Ref
}

// Note says what became of a field.
type Note struct {
	// Object that has the field.
	Object Ref `json:"object"`
	// Field as a path. Example: spec.taskOptions[0].env. Empty for what is about the whole object.
	Field string `json:"field,omitempty"`
	// Verdict in a word.
	Verdict Verdict `json:"verdict"`
	// Text goes on from the verdict: what it became, why not, what to do.
	Text string `json:"text"`
}

// Ref names an object of the input.
type Ref struct {
	// System that it is of. Example: burrito.
	System     string `json:"system,omitempty"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String is the object as people call it.
func (r Ref) String() string {
	switch {
	case r.Name == "":
		return r.Kind
	case r.Namespace == "":
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// Verdict is what became of a field, in a word.
type Verdict string

// What may become of a field.
const (
	// Became says what has its meaning in Cairn now.
	Became Verdict = "became"
	// NotNeeded says why Cairn does without it.
	NotNeeded Verdict = "not needed"
	// Cannot says that Cairn has nothing like it, and what to do in its place.
	Cannot Verdict = "cannot be"
	// Ignored says that the other system takes the field and does nothing with it.
	Ignored Verdict = "ignored there"
	// Todo is for a person to do before the Stack works.
	Todo Verdict = "to do"
	// Unknown is a field, or an object, that no converter knows.
	Unknown Verdict = "not known"
)
