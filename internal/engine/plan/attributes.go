package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	tfjson "github.com/hashicorp/terraform-json"
)

// attributes returns the attributes of a resource that change, and how many do not.
func attributes(c *tfjson.Change, left *budget) (changed []Attribute, unchanged int) {
	d := differ{replace: c.ReplacePaths, left: left}
	d.compare(state{c.Before, c.After, c.AfterUnknown, c.BeforeSensitive, c.AfterSensitive})
	return d.changed, d.unchanged
}

// outputAttributes returns what changes in the value of an output.
func outputAttributes(name string, c *tfjson.Change, left *budget) []Attribute {
	d := differ{path: []any{name}, left: left}
	d.compare(state{c.Before, c.After, c.AfterUnknown, c.BeforeSensitive, c.AfterSensitive})
	return d.changed
}

// state is a value before and after, with the marks on it. An absent value and null are the same here.
type state struct {
	before, after                            any
	unknown, beforeSensitive, afterSensitive any
}

func (s state) sensitive() bool { return sensitive(s.beforeSensitive) || sensitive(s.afterSensitive) }

// member returns a member of an object.
func (s state) member(name string) state {
	return state{
		value(s.before, name), value(s.after, name),
		of(s.unknown, name), of(s.beforeSensitive, name), of(s.afterSensitive, name),
	}
}

// elements returns the element i of the list before, and the element j of the list after; -1 is none.
func (s state) elements(i, j int) state {
	var e state
	if before, ok := s.before.([]any); ok && i >= 0 {
		e.before, e.beforeSensitive = before[i], at(s.beforeSensitive, i)
	}
	if j >= 0 {
		e.unknown, e.afterSensitive = at(s.unknown, j), at(s.afterSensitive, j)
		if after, ok := s.after.([]any); ok && j < len(after) {
			e.after = after[j]
		}
	}
	return e
}

func value(object any, name string) any {
	if o, ok := object.(map[string]any); ok {
		return o[name]
	}
	return nil
}

// differ collects the attributes that change.
type differ struct {
	path      []any // names and indices
	replace   []any // paths that force a replacement
	changed   []Attribute
	unchanged int
	left      *budget
}

func (d *differ) compare(s state) {
	_, objectBefore := s.before.(map[string]any)
	_, objectAfter := s.after.(map[string]any)
	listBefore, isListBefore := s.before.([]any)
	listAfter, isListAfter := s.after.([]any)
	switch {
	case d.left.over() != nil: // what comes of it is not shown
	case s.sensitive() || sensitive(s.unknown):
		d.leaf(s)
	case (objectBefore || s.before == nil) && (objectAfter || s.after == nil) && (objectBefore || objectAfter):
		d.object(s)
	case (isListBefore || s.before == nil) && (isListAfter || s.after == nil) && (isListBefore || isListAfter):
		d.list(s, listBefore, listAfter)
	default:
		d.leaf(s)
	}
}

func (d *differ) object(s state) {
	names := map[string]bool{}
	for _, v := range []any{s.before, s.after, s.unknown} {
		if o, ok := v.(map[string]any); ok {
			for name := range o {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		d.leaf(s) // {}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.within(name, s.member(name))
	}
}

func (d *differ) list(s state, before, after []any) {
	if len(before) == 0 && len(after) == 0 {
		d.leaf(s) // []
		return
	}
	same := func(i, j int) bool {
		e := s.elements(i, j)
		return !anySensitive(e.unknown) && reflect.DeepEqual(e.before, e.after) &&
			anySensitive(e.beforeSensitive) == anySensitive(e.afterSensitive)
	}
	for _, step := range align(len(before), len(after), same) {
		index := step.to
		if index < 0 {
			index = step.from
		}
		d.within(index, s.elements(step.from, step.to))
	}
}

func (d *differ) within(step any, s state) {
	d.path = append(d.path, step)
	was := len(d.changed)
	d.compare(s)
	d.path = d.path[:len(d.path)-1]
	if len(d.path) == 0 && len(d.changed) == was && s.before != nil {
		d.unchanged++
	}
}

// leaf takes a value as a whole.
func (d *differ) leaf(s state) {
	unknown := anySensitive(s.unknown) // both are marks, and read alike
	if unknown {
		s.after = nil
	}
	if !unknown && reflect.DeepEqual(s.before, s.after) && sensitive(s.beforeSensitive) == sensitive(s.afterSensitive) {
		return
	}
	if !unknown && s.before == nil && s.after == nil {
		return // only marks
	}
	changed := Attribute{
		Path: pathOf(d.path), Sensitive: s.sensitive(), Unknown: unknown, Forces: d.forces(),
		Before: shown(s.before, s.beforeSensitive, s.sensitive()),
		After:  shown(s.after, s.afterSensitive, s.sensitive()),
	}
	// which were all looked at
	d.left.take(attributeWeight + len(changed.Path) + len(changed.Before) + len(changed.After) + len(d.replace))
	d.changed = append(d.changed, changed)
}

// forces reports whether a change here forces the replacement.
func (d *differ) forces() bool {
	return slices.ContainsFunc(d.replace, func(p any) bool {
		path, ok := p.([]any)
		if !ok || len(path) == 0 {
			return false
		}
		for i := range min(len(path), len(d.path)) {
			if !sameStep(path[i], d.path[i]) {
				return false
			}
		}
		return true
	})
}

func sameStep(a, b any) bool {
	if n, ok := a.(json.Number); ok {
		i, ok := b.(int)
		return ok && n.String() == strconv.Itoa(i)
	}
	return a == b
}

// shown returns a value in JSON with what is sensitive in it hidden; nothing where there is none.
func shown(value, marks any, hide bool) json.RawMessage {
	if value == nil {
		return nil
	}
	if hide {
		return json.RawMessage(`"` + Hidden + `"`)
	}
	return encode((&masker{}).one(value, marks))
}

func encode(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage("null") // what came from JSON can become JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// plainName is how attributes are named. A key of a map that is named so too is written like one: both mean the same.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// pathOf writes a path. Examples: tags["Name"], ingress[0].cidr.
func pathOf(path []any) string {
	var b []byte
	for i, step := range path {
		switch s := step.(type) {
		case int:
			b = strconv.AppendInt(append(b, '['), int64(s), 10)
			b = append(b, ']')
		case string:
			switch {
			case i == 0 && identifier.MatchString(s):
				b = append(b, s...)
			case plainName.MatchString(s):
				b = append(append(b, '.'), s...)
			default:
				b = append(append(append(b, '['), encode(s)...), ']')
			}
		}
	}
	return string(b)
}
