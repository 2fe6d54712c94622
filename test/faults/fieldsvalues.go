package main

import (
	"math"
	"strings"
)

// A fieldValue is one that a field is given.
type fieldValue struct {
	name  string
	value any
	// odd says that nobody can mean it: it has to be refused, or the object has to say what is wrong.
	odd bool
}

// valuesOf are those that a field is tried with, from its schema; valid is one that it may have.
func valuesOf(f field, valid any) []fieldValue {
	s := f.schema
	switch {
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		if strings.HasSuffix(f.path, ".template") {
			return templates()
		}
		return []fieldValue{
			{"null", nil, false}, {"an object", map[string]any{"a": []any{int64(1)}}, false}, {"a list", []any{}, false},
			{"a large number", math.MaxFloat64, false}, {"100 KiB", strings.Repeat("a", 100<<10), false},
		}
	case s.XIntOrString:
		return []fieldValue{
			{"a boolean", true, true}, {"an object", map[string]any{}, true}, {"no quantity", "many", true},
			{"empty", "", true}, {"negative", "-1", true}, {"another", "3Gi", false}, {"null", nil, true},
		}
	case s.Type == "boolean":
		is, _ := valid.(bool)
		return []fieldValue{{"the other", !is, false}, {"a string", "true", true}, {"a number", int64(1), true}, {"an object", map[string]any{}, true}, {"null", nil, false}}
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
	all := append(texts(f), fieldValue{"a number", int64(7), true}, fieldValue{"a boolean", true, true}, fieldValue{"an object", map[string]any{}, true}, fieldValue{"null", nil, false})
	if strings.HasPrefix(s.Pattern, "^([0-9]+(") {
		all = append(all, fieldValue{"negative", "-1s", true}, fieldValue{"without a unit", "10", true}, fieldValue{"a unit of its own", "1y", true},
			fieldValue{"a million hours", "1000000h", true}, fieldValue{"none", "0s", false}, fieldValue{"a year", "8760h", false}, fieldValue{"a millisecond", "1ms", false})
	}
	return all
}

func integers(f field) []fieldValue {
	all := []fieldValue{
		{"negative", int64(-1), true}, {"larger than 32 bits", int64(math.MaxInt32) + 1, true}, {"a string", "1", true}, {"a fraction", 1.5, true}, {"null", nil, false},
	}
	if f.schema.Minimum != nil {
		all = append(all, fieldValue{"the least", int64(*f.schema.Minimum), false})
	}
	if f.schema.Maximum != nil {
		all = append(all, fieldValue{"the most", int64(*f.schema.Maximum), false}, fieldValue{"too many", int64(*f.schema.Maximum) + 1, true})
	}
	return all
}

// texts are odd ones for whatever a string is about.
func texts(f field) []fieldValue {
	long := 1600 << 10 // more than etcd takes of any object
	if f.schema.MaxLength != nil {
		long = int(*f.schema.MaxLength) + 1
	}
	return []fieldValue{
		{"empty", "", true}, {"too long", strings.Repeat("a", long), true}, {"nothing of this name", "nothing-of-this-name", true},
		{"out of the folder", "../../etc", true}, {"spaces", "a b", true}, {"a line break", "a\nb", true}, {"an option", "--upload-pack=x", true},
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
		{"a label that is none", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a b": "c"}}}, true},
		{"a label", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "c"}}}, false},
	}
}
