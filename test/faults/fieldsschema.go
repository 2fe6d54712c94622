package main

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	chart "cairn.dev/cairn/charts/cairn"
)

// A field is a leaf of a type's schema by its path: [] is any member of a list, {} any value of a map.
type field struct {
	kind, path string
	schema     apiextensionsv1.JSONSchemaProps
}

func (f field) String() string { return f.kind + " " + f.path }

// fieldsOf returns all fields of all types, by the CRDs of the chart.
func fieldsOf() ([]field, error) {
	const folder = "files/crds"
	files, err := fs.ReadDir(chart.Manifests, folder)
	if err != nil {
		return nil, err
	}
	var all []field
	for _, file := range files {
		data, err := chart.Manifests.ReadFile(path.Join(folder, file.Name()))
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				if schema, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
					all = append(all, leaves(crd.Spec.Names.Kind, part, schema)...)
				}
			}
		}
	}
	return all, nil
}

func leaves(kind, at string, s apiextensionsv1.JSONSchemaProps) (all []field) {
	switch {
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return leaves(kind, at+"[]", *s.Items.Schema)
	case len(s.Properties) > 0:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			all = append(all, leaves(kind, at+"."+name, s.Properties[name])...)
		}
		return all
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return leaves(kind, at+"{}", *s.AdditionalProperties.Schema)
	}
	return []field{{kind, at, s}}
}

// at returns the value at a path, where [] is the first member and {} the first value by name.
func at(o any, path string) (value any, ok bool) {
	set(o, strings.Split(spread(path), "."), func(v any, there bool) any {
		value, ok = v, there
		return v
	})
	return value, ok
}

// put sets the value at a path whose parent exists.
func put(o any, path string, value any) {
	set(o, strings.Split(spread(path), "."), func(any, bool) any { return value })
}

func spread(path string) string {
	return strings.NewReplacer("[]", ".[]", "{}", ".{}").Replace(path)
}

// set replaces the value at a path by the result of f.
func set(o any, parts []string, f func(v any, there bool) any) {
	var (
		next  any
		there bool
		keep  func(any)
	)
	switch in := o.(type) {
	case []any:
		if parts[0] != "[]" || len(in) == 0 {
			return
		}
		next, there, keep = in[0], true, func(v any) { in[0] = v }
	case map[string]any:
		name := parts[0]
		if name == "{}" {
			if len(in) == 0 {
				return
			}
			name = slices.Sorted(maps.Keys(in))[0]
		}
		next, there = in[name]
		keep = func(v any) { in[name] = v }
	default:
		return
	}
	if len(parts) == 1 {
		keep(f(next, there))
		return
	}
	set(next, parts[1:], f)
}

// A fieldValue is a value to set a field to.
type fieldValue struct {
	name  string
	value any
	// odd values have to be rejected, or reported by a condition.
	odd bool
}

// valuesOf returns the values that a field is tried with, by its schema; valid is a valid one.
func valuesOf(f field, valid any) []fieldValue {
	s := f.schema
	switch {
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		if strings.HasSuffix(f.path, ".template") {
			return templates()
		}
		return []fieldValue{
			{"null", nil, false}, {"an object", map[string]any{"a": []any{int64(1)}}, false},
			{"a list", []any{}, false},
			{"a large number", math.MaxFloat64, false}, {"100 KiB", strings.Repeat("a", 100<<10), false},
		}
	case s.XIntOrString:
		return []fieldValue{
			{"a boolean", true, true}, {"an object", map[string]any{}, true}, {"no quantity", "many", true},
			{"empty", "", true}, {"negative", "-1", true}, {"another", "3Gi", false}, {"null", nil, true},
		}
	case s.Type == "boolean":
		is, _ := valid.(bool)
		return []fieldValue{{"the other", !is, false}, {"a string", "true", true}, {"a number", int64(1), true},
			{"an object", map[string]any{}, true}, {"null", nil, false}}
	case s.Type == "integer":
		return integers(f)
	case len(s.Enum) > 0:
		first := strings.Trim(string(s.Enum[0].Raw), `"`)
		all := []fieldValue{
			{"unknown", "Unheard-of", true}, {"in small letters", strings.ToLower(first), true},
			{"empty", "", true}, {"a number", int64(1), true}, {"null", nil, false},
		}
		for _, v := range s.Enum {
			if name := strings.Trim(string(v.Raw), `"`); name != valid {
				all = append(all, fieldValue{name, name, false})
			}
		}
		if all[1].value == first {
			all = append(all[:1], all[2:]...)
		}
		return all
	}
	all := append(texts(f), fieldValue{"a number", int64(7), true}, fieldValue{"a boolean", true, true},
		fieldValue{"an object", map[string]any{}, true}, fieldValue{"null", nil, false})
	if strings.HasPrefix(s.Pattern, "^([0-9]+(") {
		all = append(all, fieldValue{"negative", "-1s", true}, fieldValue{"without a unit", "10", true},
			fieldValue{"a unit of its own", "1y", true},
			fieldValue{"a million hours", "1000000h", true}, fieldValue{"none", "0s", false},
			fieldValue{"a year", "8760h", false}, fieldValue{"a millisecond", "1ms", false})
	}
	return all
}

func integers(f field) []fieldValue {
	all := []fieldValue{
		{"negative", int64(-1), true}, {"larger than 32 bits", int64(math.MaxInt32) + 1, true}, {"a string", "1", true},
		{"a fraction", 1.5, true}, {"null", nil, false},
	}
	if f.schema.Minimum != nil {
		all = append(all, fieldValue{"the least", int64(*f.schema.Minimum), false})
	}
	if f.schema.Maximum != nil {
		all = append(all, fieldValue{"the most", int64(*f.schema.Maximum), false},
			fieldValue{"too many", int64(*f.schema.Maximum) + 1, true})
	}
	return all
}

// texts are odd values for any string.
func texts(f field) []fieldValue {
	long := 1600 << 10 // more than the size limit of etcd
	if f.schema.MaxLength != nil {
		long = int(*f.schema.MaxLength) + 1
	}
	return []fieldValue{
		{"empty", "", true}, {"too long", strings.Repeat("a", long), true},
		{"nothing of this name", "nothing-of-this-name", true},
		{"out of the folder", "../../etc", true}, {"spaces", "a b", true}, {"a line break", "a\nb", true},
		{"an option", "--upload-pack=x", true},
	}
}

func templates() []fieldValue {
	spec := func(m map[string]any) map[string]any { return map[string]any{"spec": m} }
	return []fieldValue{
		{"a string", "text", true}, {"a list", []any{}, true}, {"null", nil, false}, {"empty", map[string]any{}, false},
		{"an unknown field", spec(map[string]any{"nothing": true}), true},
		{"containers that are none", spec(map[string]any{"containers": "x"}), true},
		{"a container without a name", spec(map[string]any{"containers": []any{map[string]any{"image": "x"}}}), true},
		{"the host's network", spec(map[string]any{"hostNetwork": true}), true},
		{"a negative grace period", spec(map[string]any{"terminationGracePeriodSeconds": int64(-1)}), true},
		{"a label that is none", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a b": "c"}}},
			true},
		{"a label", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "c"}}}, false},
	}
}

// tally counts the results of all values.
var tally counted

type counted struct {
	mu     sync.Mutex
	fields int
	values map[string]int
}

func (c *counted) add(f field, counts map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]int{}
	}
	c.fields++
	all := 0
	for name, n := range counts {
		c.values[name] += n
		all += n
	}
	fmt.Printf("     %s: %d values, %v; so far %d fields, %v\n", f, all, counts, c.fields, c.values)
}
