package main

import (
	"slices"
	"testing"
)

// A new field of a type has to be in a carrier, or in uncovered with a reason.
func TestEachFieldIsCovered(t *testing.T) {
	all, err := fieldsOf()
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]int{}
	used := make([]bool, len(uncovered))
	for _, f := range all {
		_, carried := carrierOf(f)
		why := slices.IndexFunc(uncovered, func(r reason) bool { return r.of(f, "") })
		switch {
		case carried && why >= 0:
			t.Errorf("%s is in a carrier, and in uncovered", f)
		case why >= 0:
			used[why] = true
		case !carried:
			t.Errorf("%s is in no carrier, and there is no reason for that in uncovered", f)
		default:
			covered[f.kind]++
		}
	}
	for i, is := range used {
		if !is {
			t.Errorf("no field is %s", uncovered[i].fields)
		}
	}
	for _, kind := range []string{"Stack", "Repository", "Run"} {
		if covered[kind] == 0 {
			t.Errorf("no field of a %s is tried", kind)
		}
	}
	t.Log("fields tried:", covered, "of", len(all))
}

// A harmless value has to be one that is tried.
func TestHarmlessValuesAreTried(t *testing.T) {
	all, err := fieldsOf()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range harmless {
		if !slices.ContainsFunc(all, func(f field) bool {
			_, carried := carrierOf(f)
			return carried && slices.ContainsFunc(valuesOf(f, nil), func(v fieldValue) bool {
				return v.odd && r.of(f, v.name)
			})
		}) {
			t.Errorf("no odd value is %s, %s", r.fields, r.values)
		}
	}
}

func TestFieldAtAndPut(t *testing.T) {
	o := map[string]any{"spec": map[string]any{"list": []any{map[string]any{"name": "a"}},
		"map": map[string]any{"x": "1"}}}
	for path, want := range map[string]string{"spec.list[].name": "a", "spec.map{}": "1"} {
		if got, ok := at(o, path); !ok || got != want {
			t.Errorf("%s is %v %v", path, got, ok)
		}
		put(o, path, "b")
		if got, _ := at(o, path); got != "b" {
			t.Errorf("%s is %v and not b", path, got)
		}
	}
	for _, path := range []string{"spec.nothing", "spec.list[].nothing", "spec.map.y", "nothing.at.all"} {
		if got, ok := at(o, path); ok {
			t.Errorf("%s is %v", path, got)
		}
	}
}
