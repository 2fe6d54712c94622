// Package metacontroller answers the hooks of metacontroller (https://metacontroller.github.io/metacontroller): for a
// CompositeController whose parents are alustan's Terraforms, and for a DecoratorController that adds a Stack to a
// ConfigMap.
//
// An answer is a function of the request alone. It is there at once: no cluster is asked and nothing is waited for,
// since metacontroller sends what it observes, and asks again when that changes. It has only the keys that
// metacontroller's types have, as some installs reject others.
//
// What must stay true: a child that is not in an answer is deleted, and a Stack that is deleted destroys its resources.
// So children that are there stay in every answer, as they are where nothing better is known, but for a Stack whose
// parent is being deleted.
package metacontroller

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// Options of an answer.
type Options struct {
	// Apply is spec.apply of the Stacks.
	Apply v1alpha1.ApplyPolicy
}

// Controller is the fields that are checked of the CompositeController or DecoratorController of a request.
type Controller struct {
	Spec *struct {
		ChildResources []Resource `json:"childResources"`
		Attachments    []Resource `json:"attachments"`
	} `json:"spec"`
}

// Resource is a kind of a controller's children.
type Resource struct {
	APIVersion     string `json:"apiVersion"`
	Resource       string `json:"resource"`
	UpdateStrategy struct {
		Method string `json:"method"`
	} `json:"updateStrategy"`
}

// RequestError is what is wrong with a request, for the author of the controller's manifest. Nothing changes in the
// cluster then: metacontroller records it in an event of the parent, and tries again.
type RequestError struct{ text string }

// Error has what to do.
func (r *RequestError) Error() string { return r.text }

func requestErrorf(format string, args ...any) error {
	return &RequestError{fmt.Sprintf(format, args...)}
}

// inPlace is the only way in which children may be updated.
const inPlace = "InPlace"

// check rejects a controller with which Stacks would be destroyed, or never see a change. A request without one is as
// if it were right.
func (c *Controller) check(resources ...string) error {
	if c == nil || c.Spec == nil {
		return nil
	}
	listed := append(append([]Resource{}, c.Spec.ChildResources...), c.Spec.Attachments...)
	for _, want := range resources {
		found := false
		for _, r := range listed {
			if r.Resource != want || r.APIVersion != v1alpha1.GroupVersion.String() {
				continue
			}
			found = true
			if r.UpdateStrategy.Method != inPlace {
				return requestErrorf("the controller updates %s by %q: it has to be updateStrategy: {method: %s}. "+
					"Without a method no change would reach them, and any other deletes a Stack at each change, "+
					"which destroys its resources", want, r.UpdateStrategy.Method, inPlace)
			}
		}
		if !found {
			return requestErrorf("the controller does not list %s of %s with updateStrategy: {method: %s} among its "+
				"childResources or attachments: it could not be known whether they are there", want,
				v1alpha1.GroupVersion, inPlace)
		}
	}
	return nil
}
