package render

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cairn.dev/cairn/api/v1alpha1"
)

// listKeys are the lists of the spec of a Stack whose entries are merged: by a key or, with an empty one, by value. Of
// others the whole list is one value.
var listKeys = map[string]string{
	"spec.dependsOn":               "name",
	"spec.env":                     "name",
	"spec.moduleCredentials":       "host",
	"spec.pullRequests.runner.env": "name",
	"spec.requireApprovalFor":      "",
	"spec.drift.applyFor":          "",
	"spec.runner.build.args":       "name",
	"spec.variables":               "name",
	"spec.windows.operations":      "",
}

// checkKeys returns an error for the first entry of a merged list that has no key, or the key of an entry before it.
// The API server answers an apply of such a list with an internal error, which reads as one that passes.
func checkKeys(path string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if err := checkKeys(path+"."+name, value[name]); err != nil {
				return err
			}
		}
	case []any:
		key, merged := listKeys[path]
		first := map[string]int{}
		for i, entry := range value {
			if err := checkKeys(path, entry); err != nil {
				return err
			}
			if !merged {
				continue
			}
			id := entry
			if key != "" {
				id = within(entry, []string{key})
			}
			text, _ := id.(string)
			if text == "" {
				return fmt.Errorf("%s[%d] has no %s", path, i, cmp.Or(key, "value"))
			}
			if other, ok := first[text]; ok {
				return fmt.Errorf("%s[%d] and [%d] are both %q", path, other, i, text)
			}
			first[text] = i
		}
	}
	return nil
}

// Object is a rendered Stack as JSON values.
func Object(data []byte) (map[string]any, error) {
	object := map[string]any{}
	err := utiljson.Unmarshal(data, &object)
	return object, err
}

// Remove removes the field at a path such as spec.suspend, and returns its value.
func Remove(object map[string]any, path string) (value any, found bool) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			return nil, false
		}
		object = next
	}
	last := names[len(names)-1]
	value, found = object[last]
	delete(object, last)
	return value, found
}

// Differences are the paths of the fields of a rendered Stack that a Stack does not have, or has with other values,
// except those that users may change. Fields that the Stack has besides are no difference: the API server sets
// defaults, and other users set fields that the template does not have.
func Differences(data []byte, stack *v1alpha1.Stack, ignore []string) ([]string, error) {
	declared, err := Object(data)
	if err != nil {
		return nil, err
	}
	for _, path := range ignore {
		Remove(declared, path)
	}
	typed := &v1alpha1.Stack{} // as the API server and Go write the same values: 60m is 1h0m0s
	if err := utiljson.Unmarshal(data, typed); err != nil {
		return nil, err
	}
	normal, err := objectOf(typed)
	if err != nil {
		return nil, err
	}
	there, err := objectOf(stack)
	if err != nil {
		return nil, err
	}
	d := differ{}
	for _, part := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
		d.compare(strings.Join(part, "."), within(declared, part), within(normal, part), within(there, part))
	}
	slices.Sort(d.paths)
	return slices.Compact(d.paths), nil
}

func objectOf(stack *v1alpha1.Stack) (map[string]any, error) {
	shown := v1alpha1.Stack{Spec: stack.Spec}
	shown.Labels, shown.Annotations = stack.Labels, stack.Annotations
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&shown)
}

func within(object any, path []string) any {
	for _, name := range path {
		fields, _ := object.(map[string]any)
		object = fields[name]
	}
	return object
}

// differ collects the paths of differences, without the indexes of lists.
type differ struct{ paths []string }

// compare finds where the Stack in the cluster differs from the template, which is given as written and in normal form.
func (d *differ) compare(path string, declared, normal, there any) {
	switch declared := declared.(type) {
	case nil: // a field without a value is none
	case map[string]any:
		normal, _ := normal.(map[string]any)
		fields, isObject := there.(map[string]any)
		if there != nil && !isObject {
			d.paths = append(d.paths, path)
			return
		}
		for name, value := range declared {
			d.compare(path+"."+name, value, normal[name], fields[name])
		}
	case []any:
		normal, _ := normal.([]any)
		entries, _ := there.([]any)
		d.list(path, declared, normal, entries)
	default:
		value := any(declared)
		if normal != nil {
			value = normal
		}
		if !reflect.DeepEqual(value, there) && (there != nil || !reflect.ValueOf(value).IsZero()) {
			d.paths = append(d.paths, path)
		}
	}
}

func (d *differ) list(path string, declared, normal, there []any) {
	key, merged := listKeys[path]
	if !merged && len(declared) != len(there) {
		d.paths = append(d.paths, path)
		return
	}
	for i, entry := range declared {
		value := any(nil)
		if i < len(normal) {
			value = normal[i]
		}
		switch {
		case !merged:
			d.compare(path, entry, value, there[i])
		case key == "":
			if !slices.ContainsFunc(there, func(other any) bool { return reflect.DeepEqual(entry, other) }) {
				d.paths = append(d.paths, path)
			}
		default:
			at := slices.IndexFunc(there, func(other any) bool {
				return reflect.DeepEqual(within(entry, []string{key}), within(other, []string{key}))
			})
			if at < 0 {
				d.paths = append(d.paths, path)
				continue
			}
			d.compare(path, entry, value, there[at])
		}
	}
}
