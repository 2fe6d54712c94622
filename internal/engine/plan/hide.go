package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// absent is a value that does not exist, which is not null.
type absent struct{}

// variables returns a value of a place that knows which variables are sensitive; all others are marked themselves.
func (m *masker) variables(at place, name string, value any, declared *declarations) any {
	object, ok := value.(map[string]any)
	if !ok {
		return m.marked(value)
	}
	var hidden string
	switch {
	case at == document && name == "variables":
		hidden, declared = "value", m.root
	case at == configModule && name == "variables":
		hidden = "default"
	case at == moduleCall && name == "expressions":
		hidden = "constant_value"
	default:
		return m.marked(value)
	}
	for name, v := range object { // names in the code
		m.hideIn(v, hidden, declared.sensitive(name))
		object[name] = m.marked(v)
	}
	return object
}

// described returns an element of a list of what the code declares: a resource, its change, or an action. What
// identifies it stays as it is, but for the keys of instances, which are values: a secret that is called like a type
// must not hide what is destroyed.
func (m *masker) described(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return m.marked(value)
	}
	kept := map[string]string{}
	for _, name := range []string{"module_address", "mode", "type", "name", "provider_name", "provider_config_key",
		"deposed"} {
		if text, ok := object[name].(string); ok {
			kept[name] = text
		}
	}
	for _, name := range []string{"address", "previous_address"} {
		if text, ok := object[name].(string); ok {
			kept[name] = m.address(text)
		}
	}
	if text, ok := kept["module_address"]; ok {
		kept["module_address"] = m.address(text)
	}
	change, deferred := object["resource_change"]
	if deferred {
		object["resource_change"] = nil
	}
	m.inResource = true
	object = m.marked(object).(map[string]any)
	m.inResource = false
	for name, text := range kept {
		object[name] = text
	}
	if deferred {
		object["resource_change"] = m.described(change)
	}
	return object
}

func (m *masker) address(text string) string {
	if m.redact == nil {
		return text
	}
	return HideKeys(text, m.redact)
}

// HideKeys returns an address in which redact has replaced what is secret in the keys of instances, and nothing else.
// Example: module.net["(sensitive)"].aws_subnet.b[0].
func HideKeys(address string, redact func(string) string) string {
	var out strings.Builder
	for rest := address; ; {
		start := strings.Index(rest, `["`)
		if start < 0 {
			return out.String() + rest
		}
		end := start + 2
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		out.WriteString(rest[:start+2] + redact(rest[start+2:end]))
		rest = rest[end:]
	}
}

// hideIn hides a member of an object, if it is to be hidden.
func (m *masker) hideIn(value any, name string, hide bool) {
	if object, ok := value.(map[string]any); ok && hide {
		if v, ok := object[name]; ok {
			object[name] = m.hide(v)
		}
	}
}

// marked returns a value of the engine's format, in which objects list themselves what of them is sensitive. It
// changes the value.
func (m *masker) marked(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m.pairOf(v, "before", "after", "before_sensitive", "after_sensitive")
		m.oneOf(v, "values", "sensitive_values")
		m.oneOf(v, "config_values", "config_sensitive")
		if isSet(v["sensitive"]) || isSet(v["ephemeral"]) {
			for _, name := range []string{"value", "default", "constant_value"} {
				m.hideIn(v, name, true)
			}
			m.hideIn(v["expression"], "constant_value", true)
		}
		return m.members(v, func(name string, value any) any {
			switch name {
			case "before", "after", "values", "config_values":
				return value // done
			case "before_sensitive", "after_sensitive", "after_unknown", "sensitive_values", "config_sensitive",
				"config_unknown":
				return m.unmarked(value)
			case "actions", "mode":
				if ownWords(value) {
					return value
				}
			case "schema_version":
				if _, ok := value.(json.Number); ok {
					return value // the provider's: a plan without it could not be read
				}
			}
			return m.marked(value)
		})
	case []any:
		for i := range v {
			v[i] = m.marked(v[i])
		}
		return v
	default:
		return m.leaf(v)
	}
}

// unmarked returns a value in which nothing is marked.
func (m *masker) unmarked(value any) any {
	if m.redact == nil {
		return value
	}
	return m.one(value, nil)
}

// pairOf masks the values before and after a change that an object has under these names. They are masked together:
// what is sensitive in one is hidden in both.
func (m *masker) pairOf(object map[string]any, before, after, beforeMarks, afterMarks string) {
	get := func(name string) any {
		if v, ok := object[name]; ok {
			return v
		}
		return absent{}
	}
	hide := m.pair
	if m.inResource {
		hide = m.attributes
	}
	b, a := hide(get(before), get(after), object[beforeMarks], object[afterMarks])
	if b != any(absent{}) {
		object[before] = b
	}
	if a != any(absent{}) {
		object[after] = a
	}
}

// oneOf masks the value that an object has under this name.
func (m *masker) oneOf(object map[string]any, name, marks string) {
	if v, ok := object[name]; ok {
		hide := m.pair
		if m.inResource {
			hide = m.attributes
		}
		object[name], _ = hide(v, absent{}, object[marks], nil)
	}
}

// attributes is pair for the attributes of a resource, whose names are those of its type.
func (m *masker) attributes(before, after any, beforeMarks, afterMarks any) (any, any) {
	b, isObject := before.(map[string]any)
	a, is := after.(map[string]any)
	if !isObject && !is || sensitive(beforeMarks) || sensitive(afterMarks) {
		return m.pair(before, after, beforeMarks, afterMarks)
	}
	get := func(object map[string]any, name string) any {
		if value, ok := object[name]; ok {
			return value
		}
		return absent{}
	}
	for name := range a {
		was := get(b, name)
		now, hidden := m.pair(was, a[name], of(beforeMarks, name), of(afterMarks, name))
		if a[name] = hidden; was != any(absent{}) {
			b[name] = now
		}
	}
	for name, was := range b {
		if _, done := a[name]; !done {
			b[name], _ = m.pair(was, absent{}, of(beforeMarks, name), of(afterMarks, name))
		}
	}
	return before, after
}

// pair masks a value before and after a change.
func (m *masker) pair(before, after, beforeMarks, afterMarks any) (any, any) {
	if sensitive(beforeMarks) || sensitive(afterMarks) {
		same := reflect.DeepEqual(before, after)
		before, after = m.hide(before), m.hide(after)
		if before == any(Hidden) && after == any(Hidden) && !same {
			after = HiddenChanged
		}
		return before, after
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			return m.objects(b, a, beforeMarks, afterMarks)
		}
	case []any:
		if a, ok := after.([]any); ok {
			return m.lists(b, a, beforeMarks, afterMarks)
		}
	case string:
		if a, ok := after.(string); ok && a != b {
			maskedBefore, maskedAfter := m.one(b, beforeMarks), m.one(a, afterMarks)
			if maskedBefore == maskedAfter {
				maskedAfter = fmt.Sprint(maskedAfter, Changed)
			}
			return maskedBefore, maskedAfter
		}
	case json.Number:
		if a, ok := after.(json.Number); ok && a != b {
			maskedBefore, maskedAfter := m.one(b, beforeMarks), m.one(a, afterMarks)
			if maskedBefore == any(Hidden) && maskedAfter == any(Hidden) {
				maskedAfter = HiddenChanged
			}
			return maskedBefore, maskedAfter
		}
	}
	return m.one(before, beforeMarks), m.one(after, afterMarks)
}

func (m *masker) objects(before, after map[string]any, beforeMarks, afterMarks any) (any, any) {
	for name, a := range after {
		b, ok := before[name]
		if !ok {
			after[name] = m.one(a, of(afterMarks, name))
			continue
		}
		before[name], after[name] = m.pair(b, a, of(beforeMarks, name), of(afterMarks, name))
	}
	for name, b := range before {
		if _, ok := after[name]; !ok {
			// What is sensitive afterwards, and not known yet, is marked there only.
			before[name], _ = m.pair(b, absent{}, of(beforeMarks, name), of(afterMarks, name))
		}
	}
	return m.members(before, nil), m.members(after, nil)
}

func (m *masker) lists(before, after []any, beforeMarks, afterMarks any) (any, any) {
	for i := range max(len(before), len(after)) {
		var b, a any = absent{}, absent{}
		if i < len(before) {
			b = before[i]
		}
		if i < len(after) {
			a = after[i]
		}
		b, a = m.pair(b, a, at(beforeMarks, i), at(afterMarks, i))
		if i < len(before) {
			before[i] = b
		}
		if i < len(after) {
			after[i] = a
		}
	}
	return before, after
}

// one masks a value that has no counterpart.
func (m *masker) one(value, marks any) any {
	if sensitive(marks) {
		return m.hide(value)
	}
	switch v := value.(type) {
	case map[string]any:
		if _, ok := marks.([]any); ok && anySensitive(marks) {
			return m.hide(v)
		}
		for name, child := range v {
			v[name] = m.one(child, of(marks, name))
		}
		return m.members(v, nil)
	case []any:
		if _, ok := marks.(map[string]any); ok && anySensitive(marks) {
			return m.hide(v)
		}
		for i, child := range v {
			v[i] = m.one(child, at(marks, i))
		}
		return v
	default:
		if anySensitive(marks) { // marks within a value without elements: they are of another value
			return m.hide(v)
		}
		return m.leaf(v)
	}
}

// members returns an object with its names redacted, and its values as each returns them. Names that have become
// alike are numbered.
func (m *masker) members(object map[string]any, each func(string, any) any) map[string]any {
	var renamed []string
	for name, value := range object {
		if each != nil {
			object[name] = each(name, value)
		}
		if m.redact != nil && m.name(name) != name {
			renamed = append(renamed, name)
		}
	}
	slices.Sort(renamed)
	values := make([]any, len(renamed))
	for i, name := range renamed {
		values[i] = object[name]
		delete(object, name)
	}
	for i, name := range renamed {
		to := m.name(name)
		for n := 2; ; n++ {
			if _, ok := object[to]; !ok {
				break
			}
			to = fmt.Sprintf("%s (%d)", m.name(name), n)
		}
		object[to] = values[i]
	}
	return object
}

// name returns a name in an object, redacted unless it is one of the format.
func (m *masker) name(name string) string {
	if words[name] {
		return name
	}
	return m.redact(name)
}

// leaf returns a text redacted. A number that has a known secret in it is hidden as a whole: what is left of it is
// none.
func (m *masker) leaf(value any) any {
	if m.redact == nil {
		return value
	}
	switch v := value.(type) {
	case string:
		if v != Hidden && v != HiddenChanged {
			return m.redact(v)
		}
	case json.Number:
		if m.redact(v.String()) != v.String() {
			return Hidden
		}
	}
	return value
}

// hide returns the replacement of a sensitive value, and records every text in it.
func (m *masker) hide(value any) any {
	switch value {
	case nil, any(absent{}), any(HiddenChanged):
		return value
	}
	m.learnFrom(value)
	return Hidden
}

func (m *masker) learnFrom(value any) {
	if m.learn == nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, child := range v {
			m.learnFrom(child)
		}
	case []any:
		for _, child := range v {
			m.learnFrom(child)
		}
	case json.Number:
		if m.numbers && len(v) >= shortestNumber {
			m.learnText(v.String())
		}
	case string:
		m.learnText(v)
	}
}

// shortestNumber is the length below which Sensitive leaves a number out: as for numbers of variable files.
const shortestNumber = 6

func (m *masker) learnText(text string) {
	if text != "" && text != Hidden && !m.known[text] {
		m.known[text] = true
		m.learn(text)
	}
}

// ownWords reports whether a value is, or lists, only words of the engine that decide how a change is read. No
// secret is such a word, and a plan in which they are hidden could not be read.
func ownWords(value any) bool {
	switch v := value.(type) {
	case string:
		switch v {
		case "no-op", "create", "read", "update", "delete", "forget", "open", "managed", "data", "ephemeral":
			return true
		}
	case []any:
		return !slices.ContainsFunc(v, func(each any) bool { return !ownWords(each) })
	}
	return false
}
