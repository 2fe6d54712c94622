package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/base/jsonsize"
)

// Mismatch is a difference between the JSON of a plan and its plan file.
type Mismatch struct{ what string }

func (m *Mismatch) Error() string { return m.what }

func mismatch(format string, args ...any) error { return &Mismatch{fmt.Sprintf(format, args...)} }

// mostValues is how many values the JSON of a plan may have: one takes up to some hundred bytes while it is compared.
const mostValues = 2_000_000

// ErrTooManyValues means that the JSON of a plan has too many values to be compared.
var ErrTooManyValues = fmt.Errorf("the JSON of the plan has more than %d values", mostValues)

// Document compares the JSON that an engine prints of the plan (`show -json`, nothing hidden) with the plan file, and
// returns it as users and policies get it: with the members that are known here, each once, written again from what was
// compared. A part that differs is a Mismatch: the changes of resources and outputs, actions, drift, planned values,
// and the variables that were set.
//
// The configuration, the prior state, checks and the defaults of variables are not in the plan file in this form. They
// are in the document as the engine printed them.
//
// ErrTooManyValues means that the JSON would take too much memory.
func (f *File) Document(shown []byte) ([]byte, error) {
	if jsonsize.HasMoreValues(shown, mostValues) {
		return nil, ErrTooManyValues
	}
	d := &document{file: f, parts: map[string]json.RawMessage{}}
	if err := d.read(shown); err != nil {
		return nil, err
	}
	d.out.Grow(len(shown))
	d.out.WriteByte('{')
	for _, part := range parts {
		if err := d.part(part.name, part.write); err != nil {
			return nil, err
		}
	}
	d.out.WriteByte('}')
	return d.out.Bytes(), nil
}

// document is the JSON of a plan while it is compared and written.
type document struct {
	file *File
	// parts are the members of the JSON, as the engine printed them.
	parts map[string]json.RawMessage
	out   bytes.Buffer
}

// parts are the members that a plan in JSON may have, and how each is compared and written. What has no comparison is
// written as it is; all other members are left out. The first is always there.
var parts = []struct {
	name  string
	write func(*document, json.RawMessage) error
}{
	{"format_version", (*document).copy},
	{"terraform_version", (*document).version},
	{"applyable", flag(func(f *File) bool { return f.applyable })},
	{"complete", flag(func(f *File) bool { return f.complete })},
	{"errored", flag(func(f *File) bool { return f.errored })},
	{RefreshOnlyMember, (*document).refreshOnly},
	{"variables", (*document).variables},
	{"resource_drift", (*document).drift},
	{"resource_changes", (*document).changes},
	{"deferred_changes", (*document).deferredChanges},
	{"action_invocations", (*document).invocations},
	{"output_changes", (*document).outputs},
	{"planned_values", (*document).planned},
	{"prior_state", (*document).copy},
	{"configuration", (*document).copy},
	{"relevant_attributes", (*document).copy},
	{"checks", (*document).copy},
	{"timestamp", (*document).copy},
}

// read takes the JSON apart. A name that is there twice is an error, whatever stands between.
func (d *document) read(shown []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(shown))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return mismatch("it is not the JSON of a plan")
	}
	for decoder.More() {
		var value json.RawMessage
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return mismatch("it is not the JSON of a plan")
		}
		if d.parts[name] != nil {
			return mismatch("it has %.100q twice", name)
		}
		d.parts[name] = value
	}
	if _, err := decoder.Token(); err != nil || decoder.More() {
		return mismatch("it is not the JSON of a plan")
	}
	return nil
}

// part compares and writes a member of the document. What the plan file has of it is compared also if the JSON has no
// such member.
func (d *document) part(name string, write func(*document, json.RawMessage) error) error {
	raw, there := d.parts[name]
	if !there {
		at := d.out.Len()
		defer d.out.Truncate(at)
		return write(d, nil)
	}
	if d.out.Len() > 1 {
		d.out.WriteByte(',')
	}
	fmt.Fprintf(&d.out, "%q:", name)
	return write(d, raw)
}

func (d *document) copy(raw json.RawMessage) error {
	d.out.Write(raw)
	return nil
}

// write writes a value that was compared.
func (d *document) write(value any) error {
	encoder := json.NewEncoder(&d.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	d.out.Truncate(d.out.Len() - 1) // the encoder ends with a line break
	return nil
}

func (d *document) version(raw json.RawMessage) error {
	var version string
	if raw != nil && decodeJSON(raw, &version) != nil || version != d.file.EngineVersion {
		return mismatch("engine version %.40q, in the plan file %.40q", version, d.file.EngineVersion)
	}
	return d.write(version)
}

// flag is a boolean of the plan file. An engine that does not print it does not have it.
func flag(of func(*File) bool) func(*document, json.RawMessage) error {
	return func(d *document, raw json.RawMessage) error {
		var shown bool
		if raw == nil {
			return nil
		}
		if decodeJSON(raw, &shown) != nil || shown != of(d.file) {
			return mismatch("it is complete, applicable or failed in another way in the plan file")
		}
		return d.write(shown)
	}
}

// RefreshOnlyMember is a member of the JSON of a plan that no engine prints: true in a plan with -refresh-only, whose
// apply writes all of resource_drift to the state. The JSON of engines does not show how it was planned.
const RefreshOnlyMember = "refresh_only"

// refreshOnly requires the member in a plan with -refresh-only, and in no other.
func (d *document) refreshOnly(raw json.RawMessage) error {
	var shown bool
	if raw != nil && decodeJSON(raw, &shown) != nil || shown != d.file.refreshOnly {
		return mismatch("%s is another in the plan file", RefreshOnlyMember)
	}
	if n := len(d.file.goneLeftovers); n > 0 {
		l := d.file.goneLeftovers[0]
		return mismatch("the plan removes %d objects from the state that a replacement left, as %s of %.200s, and "+
			"the engine does not show it: a plan without -refresh-only does", n, l.key, l.address)
	}
	return d.write(shown)
}

func decodeJSON(data []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// list compares the elements of a list one after another, and writes what compare returns of each; null is an empty
// list.
func (d *document) list(raw json.RawMessage, compare func(object) (object, error)) error {
	first := true
	d.out.WriteByte('[')
	err := d.pieces(raw, '[', func(_ string, o object) error {
		if !first {
			d.out.WriteByte(',')
		}
		first = false
		element, err := compare(o)
		if err != nil {
			return err
		}
		return d.write(element)
	})
	d.out.WriteByte(']')
	return err
}

// members is list for the members of an object.
func (d *document) members(raw json.RawMessage, compare func(string, object) (object, error)) error {
	seen := map[string]bool{}
	d.out.WriteByte('{')
	err := d.pieces(raw, '{', func(name string, o object) error {
		if seen[name] {
			return mismatch("it has %.100q twice", name)
		}
		if len(seen) > 0 {
			d.out.WriteByte(',')
		}
		seen[name] = true
		member, err := compare(name, o)
		if err != nil {
			return err
		}
		if err := d.write(name); err != nil {
			return err
		}
		d.out.WriteByte(':')
		return d.write(member)
	})
	d.out.WriteByte('}')
	return err
}

// pieces calls do for each object in a list, or for each of an object with its name.
func (d *document) pieces(raw json.RawMessage, start byte, do func(name string, o object) error) error {
	if len(raw) == 0 {
		return nil
	}
	err := jsonsize.ForEach(raw, start, func(quoted, text []byte) error {
		var name string
		var o object
		if start == '{' && json.Unmarshal(quoted, &name) != nil || decodeJSON(text, &o) != nil || o == nil {
			return mismatch("a list of changes has an element that is none")
		}
		return do(name, o)
	})
	if errors.Is(err, jsonsize.ErrKind) {
		return mismatch("a list of changes is none")
	}
	return err
}

// object in JSON. Its members are read by their exact names: the decoder of structs also takes names in other letters.
type object map[string]any

// text is a member that is a text; empty where there is none.
func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

// object is a member that is an object; nil where there is none.
func (o object) object(name string) object {
	value, _ := o[name].(map[string]any)
	return value
}

// only is the object without all members but these.
func (o object) only(names ...string) object {
	rest := make(object, len(names))
	for _, name := range names {
		if value, there := o[name]; there {
			rest[name] = value
		}
	}
	return rest
}
