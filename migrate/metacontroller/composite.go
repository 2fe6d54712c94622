package metacontroller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/migrate/alustan"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// CompositeRequest is what metacontroller sends to the sync and finalize hooks of a CompositeController.
type CompositeRequest struct {
	Controller *Controller `json:"controller"`
	Parent     Object      `json:"parent"`
	Children   Observed    `json:"children"`
	Finalizing bool        `json:"finalizing"`
}

// CompositeAnswer is what metacontroller reads.
type CompositeAnswer struct {
	// Status takes the place of the parent's.
	Status Object `json:"status"`
	// Children are all that there are to be; a child that is there and not here is deleted.
	Children []Object `json:"children"`
	// Finalized lets the parent go.
	Finalized bool `json:"finalized,omitempty"`
}

// The kind of the parents.
const (
	parentAPIVersion = "alustan.io/v1alpha1"
	parentKind       = "Terraform"
)

// Composite converts a Terraform to a Repository and a Stack, and reports the Stack in the Terraform's status.
//
// When the Terraform is deleted the Stack is no longer wanted, so that it is deleted and destroys its resources; the
// Repository stays, and the Terraform, until no Stack is observed any more. A Terraform that the controller's selector
// does not match any longer is finalized, and its children stay: taking a label away destroys nothing.
func Composite(r CompositeRequest, o Options) (CompositeAnswer, error) {
	if err := r.Controller.check("stacks", "repositories"); err != nil {
		return CompositeAnswer{}, err
	}
	if got, kind := text(r.Parent, "apiVersion"), text(r.Parent, "kind"); got != parentAPIVersion ||
		kind != parentKind {
		return CompositeAnswer{}, requestErrorf("the parent is a %.100q of %.100q: it has to be a %s of %s", kind, got,
			parentKind, parentAPIVersion)
	}
	switch {
	case r.Finalizing && deleted(r.Parent):
		return r.finalize()
	case r.Finalizing:
		return CompositeAnswer{Status: r.status(), Children: r.Children.kept("Repository", "Stack"), Finalized: true},
			nil
	case deleted(r.Parent): // there is no finalize hook, and then metacontroller leaves children alone
		return CompositeAnswer{Status: stateOf(r.Children.of("Stack")).status(),
			Children: r.Children.kept("Repository", "Stack")}, nil
	}
	children, about, err := childrenOf(r.Parent, o)
	if err != nil {
		wrong := state{failed, err.Error() + ": what is there stays as it is"}
		return CompositeAnswer{Status: wrong.status(), Children: r.Children.kept("Repository", "Stack")}, nil
	}
	now := stateAfter(r.Children, children)
	now.message += about
	return CompositeAnswer{Status: now.status(), Children: append(children, r.Children.others("Stack", children)...)},
		nil
}

func (r CompositeRequest) finalize() (CompositeAnswer, error) {
	stacks := r.Children.of("Stack")
	switch {
	case !r.Children.known("Stack"):
		return CompositeAnswer{},
			requestErrorf("the request does not list Stacks: the controller has to list stacks of cairn.dev/v1alpha1 " +
				"among its childResources")
	case len(stacks) > 0:
		return CompositeAnswer{Status: ending(stacks).status(), Children: r.Children.kept("Repository")}, nil
	}
	return CompositeAnswer{Status: state{completed, "the Stack is gone"}.status(), Children: []Object{},
		Finalized: true}, nil
}

// status is the parent's, as it is; what metacontroller adds it adds again.
func (r CompositeRequest) status() Object {
	status := Object{}
	for _, name := range []string{"state", "message"} {
		if value := at(r.Parent, "status", name); value != nil {
			status[name] = value
		}
	}
	return status
}

// childrenOf creates the children of a parent, each with the parent's name, and names the fields of the parent that
// need a change.
func childrenOf(parent Object, o Options) (children []Object, about string, err error) {
	result, err := convert.Objects(alustan.Kinds, []unstructured.Unstructured{{Object: parent}})
	if err != nil {
		return nil, "", err
	}
	if len(result.Stacks) != 1 {
		return nil, "", fmt.Errorf("it would be converted to %d Stacks, and not to one", len(result.Stacks))
	}
	stack := &result.Stacks[0]
	stack.Spec.Apply = o.Apply
	// Two Terraforms of one address would want one child, and a child has one parent.
	for i := range result.Repositories {
		result.Repositories[i].Name = stack.Name
		stack.Spec.Source.Git.Repository.Name = stack.Name
	}
	children, err = result.Objects()
	if err != nil {
		return nil, "", err
	}
	for _, child := range children {
		adopt(child)
	}
	return children, wants(parent, result.Notes), nil
}

// mostNamed is how many fields a message names.
const mostNamed = 5

// wants names the fields of a parent that need a change: those that cannot be converted, or not completely.
func wants(parent Object, notes []manifest.Note) string {
	var fields []string
	for _, n := range notes {
		if n.Outcome == manifest.ToDo || n.Outcome == manifest.Unsupported || n.Outcome == manifest.Unknown {
			fields = append(fields, n.Field)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	more := ""
	if len(fields) > mostNamed {
		fields, more = fields[:mostNamed], " and more"
	}
	return fmt.Sprintf(" (check %s%s: kubectl -n %s get terraforms.alustan.io %s -o yaml | cairn migrate -f -)",
		strings.Join(fields, ", "), more, text(parent, "metadata", "namespace"), text(parent, "metadata", "name"))
}
