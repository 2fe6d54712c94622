// Package manifest reads objects of other systems, their fields, and the notes on what became of each field. It knows
// nothing of the systems or of Cairn: package convert does.
package manifest

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is an object of the input with the notes on its fields. A converter that reads a field also records a note on
// it.
type Object struct {
	Ref  Ref
	Root Field
	// noted are the paths of fields that have a note, which covers all that is in them.
	withNote map[string]bool
	Notes    []Note
	Errors   []error
}

// NewObject keeps no value of a Secret.
func NewObject(u unstructured.Unstructured) *Object {
	o := &Object{
		Ref: Ref{
			APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		},
		withNote: map[string]bool{},
	}
	o.Root = Field{Object: o, Value: withoutSecrets(u)}
	return o
}

// At is the field of that path, by its names.
func (o *Object) At(names ...string) Field { return o.Root.At(names...) }

// Note adds a note to a path, whether there is a field or not: on the meaning of a field that is absent, for example.
func (o *Object) Note(outcome Outcome, path, format string, args ...any) {
	o.withNote[path] = true
	n := Note{Object: o.Ref, Field: path, Outcome: outcome, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.Notes, n) { // what several Stacks take from one object has one note
		o.Notes = append(o.Notes, n)
	}
}

// Fail reports that the object is wrong at a path, so that nothing is converted.
func (o *Object) Fail(path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	o.Errors = append(o.Errors, fmt.Errorf("%s: %s%w", o.Ref, path, fmt.Errorf(format, args...)))
}

// MarkNoted records that the fields at these paths need no note.
func (o *Object) MarkNoted(paths ...string) {
	for _, path := range paths {
		o.withNote[path] = true
	}
}

// withoutSecrets is the object or, of a Secret, what is in it without the values: they must not be read.
func withoutSecrets(u unstructured.Unstructured) map[string]any {
	if u.GetKind() != "Secret" {
		return u.Object
	}
	kept := maps.Clone(u.Object)
	for _, part := range []string{"data", "stringData"} {
		values, ok := kept[part].(map[string]any)
		if !ok {
			delete(kept, part)
			continue
		}
		names := map[string]any{}
		for name := range values {
			names[name] = ""
		}
		kept[part] = names
	}
	if metadata, ok := kept["metadata"].(map[string]any); ok { // kubectl writes all of it into an annotation
		metadata = maps.Clone(metadata)
		delete(metadata, "annotations")
		kept["metadata"] = metadata
	}
	return kept
}
