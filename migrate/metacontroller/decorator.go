package metacontroller

import (
	"cairn.dev/cairn/api/v1alpha1"
)

// DecoratorRequest is what metacontroller sends to the sync and finalize hooks of a DecoratorController.
type DecoratorRequest struct {
	Controller  *Controller `json:"controller"`
	Object      Object      `json:"object"`
	Attachments Observed    `json:"attachments"`
	Finalizing  bool        `json:"finalizing"`
}

// DecoratorAnswer is what metacontroller reads. Labels and status of the object stay as they are: it does not contain
// them.
type DecoratorAnswer struct {
	// Annotations to set; null takes one away.
	Annotations map[string]*string `json:"annotations"`
	// Attachments are all that there are to be.
	Attachments []Object `json:"attachments"`
	// Finalized lets the object go.
	Finalized bool `json:"finalized,omitempty"`
}

// Annotations of a ConfigMap with the status of its Stack.
const (
	stateAnnotation   = "cairn.dev/state"
	messageAnnotation = "cairn.dev/message"
)

// Decorator creates a Stack for a ConfigMap whose keys are the files of a root module, with the ConfigMap's name. The
// rest of the Stack is in annotations of the ConfigMap. Deletion, and a label that is taken away, are as with
// Composite.
func Decorator(r DecoratorRequest, o Options) (DecoratorAnswer, error) {
	if err := r.Controller.check("stacks"); err != nil {
		return DecoratorAnswer{}, err
	}
	name := text(r.Object, "metadata", "name")
	if got, kind := text(r.Object, "apiVersion"), text(r.Object, "kind"); got != "v1" || kind != "ConfigMap" ||
		name == "" {
		return DecoratorAnswer{}, requestErrorf("the object is a %.100q of %.100q: it has to be a ConfigMap of v1",
			kind, got)
	}
	stacks := r.Attachments.of("Stack")
	switch {
	case r.Finalizing && !deleted(r.Object):
		return DecoratorAnswer{Annotations: map[string]*string{stateAnnotation: nil, messageAnnotation: nil},
			Attachments: r.Attachments.kept("Stack"), Finalized: true}, nil
	case r.Finalizing && !r.Attachments.known("Stack"):
		return DecoratorAnswer{},
			requestErrorf("the request does not list Stacks: the controller has to list stacks of cairn.dev/v1alpha1 " +
				"among its attachments")
	case r.Finalizing && len(stacks) == 0:
		return DecoratorAnswer{Annotations: map[string]*string{}, Attachments: []Object{}, Finalized: true}, nil
	case r.Finalizing:
		return DecoratorAnswer{Annotations: ending(stacks).annotations(), Attachments: []Object{}}, nil
	case deleted(r.Object): // there is no finalize hook
		return DecoratorAnswer{Annotations: stateOf(stacks).annotations(), Attachments: r.Attachments.kept("Stack")},
			nil
	}
	metadata := Object{"name": name}
	if namespace := text(r.Object, "metadata", "namespace"); namespace != "" {
		metadata["namespace"] = namespace
	}
	wanted := []Object{{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Stack", "metadata": metadata,
		"spec": Object{"source": Object{"configMap": Object{"name": name}}, "apply": string(o.Apply)},
	}}
	return DecoratorAnswer{Annotations: stateAfter(r.Attachments, wanted).annotations(),
		Attachments: append(wanted, r.Attachments.others("Stack", wanted)...)}, nil
}

func (s state) annotations() map[string]*string {
	return map[string]*string{stateAnnotation: &s.name, messageAnnotation: &s.message}
}
