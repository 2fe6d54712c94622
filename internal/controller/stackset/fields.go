package stackset

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

// restored is a field that had another value than the template.
type restored struct{ stack, field, manager string }

// restoredFields are the fields of a Stack that differ from the template which was applied to it, and who changed them.
func restoredFields(set *v1alpha1.StackSet, one decision.Write, live *v1alpha1.Stack) (all []restored, err error) {
	if live.Annotations[v1alpha1.RenderedAnnotation] != one.Rendered.Digest {
		return nil, nil // the template changed
	}
	paths, err := render.Differences(one.Rendered.JSON, live, set.Spec.Ignore)
	for _, path := range paths {
		all = append(all, restored{live.Name, path, managerOf(live, path)})
	}
	return all, err
}

// managerOf is the manager of a field or, if it was removed, the one that wrote last; empty if it is not known.
func managerOf(live *v1alpha1.Stack, path string) string {
	manager, owns := "", false
	var at metav1.Time
	for _, e := range live.ManagedFields {
		if e.Subresource != "" || e.Manager == FieldManager || e.Manager == GoneManager || e.Time == nil {
			continue
		}
		if has := owned(e, path); (has && !owns) || (has == owns && at.Before(e.Time)) {
			manager, owns, at = e.Manager, has, *e.Time
		}
	}
	return manager
}

// owned reports whether an entry has a field. Entries of lists are not distinguished.
func owned(e metav1.ManagedFieldsEntry, path string) bool {
	if e.FieldsV1 == nil {
		return false
	}
	fields := map[string]any{}
	if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	for _, name := range strings.Split(path, ".") {
		next, ok := fields["f:"+name].(map[string]any)
		if !ok {
			return hasEntries(fields)
		}
		fields = next
	}
	return true
}

func hasEntries(fields map[string]any) bool {
	for name := range fields {
		if strings.HasPrefix(name, "k:") || strings.HasPrefix(name, "v:") {
			return true
		}
	}
	return false
}

// keepIgnored replaces the fields that users may change by what the Stack has. They remain the set's where they were:
// the API server would remove what an apply does not name any more.
func keepIgnored(body *unstructured.Unstructured, ignore []string, live *v1alpha1.Stack) error {
	if len(ignore) == 0 {
		return nil
	}
	there, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return err
	}
	for _, path := range ignore {
		render.Remove(body.Object, path)
		names := strings.Split(path, ".")
		value, found, err := unstructured.NestedFieldCopy(there, names...)
		if err != nil || !found || !isOurs(live, path) {
			continue
		}
		if err := unstructured.SetNestedField(body.Object, value, names...); err != nil {
			return err
		}
	}
	return nil
}

// rules are the fields that a Stack keeps when the template has them no more: their removal loosens what they require.
// A template that ends a rule has to set the field, and its author needs the verb for that.
var rules = []string{"spec.deletionPolicy", "spec.preventSelfApproval", "spec.requireApprovalFor"}

// absentRules are those that a rendered Stack does not have.
func absentRules(body *unstructured.Unstructured) (absent []string) {
	for _, path := range rules {
		if _, found, _ := unstructured.NestedFieldNoCopy(body.Object, strings.Split(path, ".")...); !found {
			absent = append(absent, path)
		}
	}
	return absent
}

// isOurs reports whether the last apply of a set named a field.
func isOurs(live *v1alpha1.Stack, path string) bool {
	for _, e := range live.ManagedFields {
		applied := e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
		if applied && e.Manager == FieldManager && owned(e, path) {
			return true
		}
	}
	return false
}
