package plan

import (
	"slices"
)

// isSet reports whether a mark on a whole value is set: one of a form that we do not know is.
func isSet(mark any) bool {
	return mark != nil && mark != false
}

// sensitive reports whether marks hide a whole value. They are true where they do; of a form that we do not know,
// they do too.
func sensitive(marks any) bool {
	switch v := marks.(type) {
	case nil, map[string]any, []any, absent:
		return false
	case bool:
		return v
	default:
		return true
	}
}

// anySensitive reports whether marks hide anything.
func anySensitive(marks any) bool {
	switch v := marks.(type) {
	case map[string]any:
		for _, child := range v {
			if anySensitive(child) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, anySensitive)
	default:
		return sensitive(v)
	}
}

// of returns the marks of a member. Where the marks are those of a list, each hides it.
func of(marks any, name string) any {
	switch v := marks.(type) {
	case map[string]any:
		return v[name]
	case []any:
		return anySensitive(v)
	}
	return nil
}

// at returns the marks of an element. Where the marks are those of an object, each hides it.
func at(marks any, i int) any {
	switch v := marks.(type) {
	case []any:
		if i < len(v) {
			return v[i]
		}
	case map[string]any:
		return anySensitive(v)
	}
	return nil
}
