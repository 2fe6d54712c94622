package convert

import (
	"bytes"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// Result is what the objects of other systems became.
type Result struct {
	// Repositories, StackSets and Stacks, each list by namespace and name.
	Repositories []v1alpha1.Repository
	StackSets    []v1alpha1.StackSet
	Stacks       []v1alpha1.Stack
	// Notes have an entry for each field of each object; those of an object are together.
	Notes []manifest.Note
	// origins are the objects that Stacks were converted from, by namespace and name; those that were Cairn's already
	// are not in it.
	origins map[types.NamespacedName]manifest.Ref
}

// Manifests are the objects as YAML: Repositories, then StackSets, then Stacks. The same result has the same bytes.
func (r *Result) Manifests() ([]byte, error) {
	objects, err := r.Objects()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		text, err := yaml.JSONToYAML(data)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// Objects are the manifests as values: Repositories, then StackSets, then Stacks.
func (r *Result) Objects() ([]map[string]any, error) {
	objects := make([]map[string]any, 0, len(r.Repositories)+len(r.StackSets)+len(r.Stacks))
	add := func(o any) error {
		fields, err := plainFields(o)
		objects = append(objects, fields)
		return err
	}
	for i := range r.Repositories {
		if err := add(&r.Repositories[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.StackSets {
		if err := add(&r.StackSets[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.Stacks {
		if err := add(&r.Stacks[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// plainFields is an object without what its type always writes.
func plainFields(o any) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a number of the user's stays as it was written
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := fields["spec"].(map[string]any); ok {
		for _, name := range []string{"engine", "retry", "runner"} {
			in, ok := spec[name].(map[string]any)
			if !ok {
				continue
			}
			if resources, ok := in["resources"].(map[string]any); ok && len(resources) == 0 {
				delete(in, "resources")
			}
			if len(in) == 0 {
				delete(spec, name)
			}
		}
	}
	return fields, nil
}

// Hold changes the result for the day of the migration, and records that in its notes: a plan that has changes waits
// for an approval, and deleting a Stack keeps all of its resources. Stacks that were Cairn's already stay as they are.
func (r *Result) Hold() {
	for i := range r.Stacks {
		stack := &r.Stacks[i]
		from, made := r.origins[types.NamespacedName{Namespace: stack.Namespace, Name: stack.Name}]
		if !made {
			continue
		}
		if stack.Spec.Apply == v1alpha1.ApplyAutomatic {
			stack.Spec.Apply = v1alpha1.ApplyManual
			r.note(from, "spec.apply", "Manual for now, and not Automatic: the first plan has to be empty; "+
				"--keep-apply keeps the original")
		}
		if stack.Spec.DeletionPolicy == "" || stack.Spec.DeletionPolicy == v1alpha1.DeletionDestroy {
			stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			r.note(from, "spec.deletionPolicy", "Orphan for now, and not Destroy: deleting the Stack to go back must "+
				"destroy nothing; --keep-apply keeps the original")
		}
	}
}

// note adds a note behind the others of its object.
func (r *Result) note(of manifest.Ref, field, text string) {
	at := len(r.Notes)
	for i, n := range r.Notes {
		if n.Object == of {
			at = i + 1
		}
	}
	r.Notes = slices.Insert(r.Notes, at, manifest.Note{Object: of, Field: field, Outcome: manifest.Became, Text: text})
}
