package metacontroller

import (
	"slices"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzComposite checks that a response to any request is valid for metacontroller, and only deletes the Stack of a
// deleted parent.
func FuzzComposite(f *testing.F) {
	for _, body := range recorded(f, "composite") {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data, err := respond(body, "", Composite)
		if err != nil {
			return
		}
		var a compositeResponse
		strictly(t, data, &a)
		var r CompositeRequest
		if err := kjson.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		safe(t, r.Children, a.Children, a.Finalized, r.Finalizing, deleted(r.Parent))
	})
}

func FuzzDecorator(f *testing.F) {
	for _, body := range recorded(f, "decorator") {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data, err := respond(body, "", Decorator)
		if err != nil {
			return
		}
		var a decoratorResponse
		strictly(t, data, &a)
		var r DecoratorRequest
		if err := kjson.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		safe(t, r.Attachments, a.Attachments, a.Finalized, r.Finalizing, deleted(r.Object))
	})
}

func safe(t *testing.T, observed Observed, children []Object, finalized, finalizing, deleted bool) {
	t.Helper()
	stays := names(children, "Stack")
	there := observed.of("Stack")
	if finalized && (!finalizing || deleted && len(there) > 0) {
		t.Errorf("the finalizer is removed with %d Stacks", len(there))
	}
	if finalizing && deleted {
		if len(stays) > 0 {
			t.Errorf("the children are %v, and the parent is deleted", stays)
		}
		return
	}
	for _, stack := range there {
		// metacontroller sends only Stacks in this group.
		if stack["apiVersion"] == "cairn.dev/v1alpha1" && stack["kind"] == "Stack" &&
			!slices.Contains(stays, text(stack, "metadata", "name")) {
			t.Errorf("Stack %v would be deleted; %v would remain", at(stack, "metadata", "name"), stays)
		}
	}
}
