package main

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	chart "cairn.dev/cairn/charts/cairn"
)

// A field is one of a kind's that has no fields of its own, by its path: [] is any member of a list, {} any value of a map.
type field struct {
	kind, path string
	schema     apiextensionsv1.JSONSchemaProps
}

func (f field) String() string { return f.kind + " " + f.path }

// fieldsOf are all fields of all kinds, as the chart's definitions have them.
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

// at gives the value at a path, where [] is the first member and {} the first value by name.
func at(o any, path string) (value any, ok bool) {
	set(o, strings.Split(spread(path), "."), func(v any, there bool) any {
		value, ok = v, there
		return v
	})
	return value, ok
}

// put sets the value at a path of which all but the last part is there.
func put(o any, path string, value any) {
	set(o, strings.Split(spread(path), "."), func(any, bool) any { return value })
}

func spread(path string) string {
	return strings.NewReplacer("[]", ".[]", "{}", ".{}").Replace(path)
}

// set replaces what is at a path by what f makes of it.
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
