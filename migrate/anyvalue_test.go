package migrate

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/migrate/convert"
)

// TestAnyValueAnywhere checks that any value of a field is either rejected or mentioned in a note, and that the result
// can be converted again.
func TestAnyValueAnywhere(t *testing.T) {
	values := []any{"x", 1.5, true, []any{"a", int64(1)}, map[string]any{"a": "b"}}
	for _, file := range inputs(t) {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Read(text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range objects {
				if convert.IndexOf(kinds, objects[i].GetAPIVersion(), objects[i].GetKind()) < 0 {
					continue
				}
				// One object at a time, with those that it may need.
				few := []unstructured.Unstructured{objects[i]}
				for j := range objects {
					if k := convert.IndexOf(kinds, objects[j].GetAPIVersion(), objects[j].GetKind()); j != i &&
						k >= 0 && !kinds[k].Stack {
						few = append(few, objects[j])
					}
				}
				each(objects[i].Object["spec"], func(put func(any)) {
					for _, value := range values {
						put(value)
						try(t, few, value == "x")
					}
				})
			}
		})
	}
}

// each calls f for each position in a value, with a function that replaces the value there, and restores the old value.
func each(value any, f func(put func(any))) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			was := value[name]
			f(func(v any) { value[name] = v })
			value[name] = was
			each(was, f)
		}
	case []any:
		for i, was := range value {
			f(func(v any) { value[i] = v })
			value[i] = was
			each(was, f)
		}
	}
}

// try converts the objects, and with again also the result, which needs ten times as long.
func try(t *testing.T, objects []unstructured.Unstructured, again bool) {
	t.Helper()
	r, err := Convert(objects)
	if err != nil {
		return
	}
	for _, u := range objects {
		if left := uncovered(u, r.Notes); len(left) > 0 {
			t.Fatalf("%s %s: no note mentions %v in %v", u.GetKind(), u.GetName(), left, u.Object)
		}
	}
	if !again {
		return
	}
	once, err := r.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	converted, err := Read(once)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Convert(converted)
	if err != nil {
		t.Fatalf("%v\n%s", err, once)
	}
	if text, err := twice.Manifests(); err != nil || !bytes.Equal(once, text) {
		t.Fatalf("converted again, it is another: %v\n%s\n%s", err, once, text)
	}
}
