package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field is a place in an object. One that does not exist has no value, and notes on it are dropped.
type Field struct {
	Object *Object
	Path   string
	Name   string
	Value  any
}

// At is a field in this one.
func (f Field) At(names ...string) Field {
	for _, name := range names {
		fields, _ := f.Value.(map[string]any)
		f = Field{Object: f.Object, Path: join(f.Path, name), Name: name, Value: fields[name]}
	}
	return f
}

// Exists returns true if the field is in the object and is not null.
func (f Field) Exists() bool { return f.Value != nil }

// Items are the fields of a list.
func (f Field) Items() []Field {
	list, ok := f.Value.([]any)
	if !ok && f.Exists() {
		f.Fail("a list is wanted, and this is %s", TypeName(f.Value))
	}
	items := make([]Field, len(list))
	for i, value := range list {
		index := "[" + strconv.Itoa(i) + "]"
		items[i] = Field{Object: f.Object, Path: f.Path + index, Name: index, Value: value}
	}
	return items
}

// Fields are those of a map, by name.
func (f Field) Fields() []Field {
	values, ok := f.Value.(map[string]any)
	if !ok && f.Exists() {
		f.Fail("a map is wanted, and this is %s", TypeName(f.Value))
	}
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, f.At(name))
	}
	return fields
}

// Text is the value of a string; empty where there is none.
func (f Field) Text() string {
	text, ok := f.Value.(string)
	if !ok && f.Exists() {
		f.Fail("a string is wanted, and this is %s", TypeName(f.Value))
	}
	return text
}

// Bool is the value of a boolean; false where there is none.
func (f Field) Bool() bool {
	truth, ok := f.Value.(bool)
	if !ok && f.Exists() {
		f.Fail("true or false is wanted, and this is %s", TypeName(f.Value))
	}
	return truth
}

// Int is the value of a whole number; 0 where there is none.
func (f Field) Int() int64 {
	switch n := f.Value.(type) {
	case nil:
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n)
		}
		f.Fail("a whole number is wanted, and this is %v", n)
	default:
		f.Fail("a whole number is wanted, and this is %s", TypeName(f.Value))
	}
	return 0
}

// Texts is the value of a list of strings.
func (f Field) Texts() []string {
	var texts []string
	for _, item := range f.Items() {
		texts = append(texts, item.Text())
	}
	return texts
}

// TextMap is the value of a map of strings.
func (f Field) TextMap() map[string]string {
	if !f.Exists() {
		return nil
	}
	texts := map[string]string{}
	for _, item := range f.Fields() {
		texts[item.Name] = item.Text()
	}
	return texts
}

// Decode reads the value into a type of Kubernetes. What that type does not have gets a note.
func (f Field) Decode(to any) {
	if !f.Exists() {
		return
	}
	data, err := json.Marshal(f.Value)
	if err != nil {
		f.Fail("%w", err)
		return
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	unknown := strict.Decode(to)
	if unknown == nil {
		return
	}
	if err := json.Unmarshal(data, to); err != nil {
		f.Fail("%w", plain(err))
		return
	}
	f.Object.Note(Unknown, f.Path, "something in it is not known, and left out: %v", plain(unknown))
}

// HasNote returns true if there is a note on the field.
func (f Field) HasNote() bool { return f.Object.withNote[f.Path] }

// Duration is the value of a duration; ok is false when it is none.
func (f Field) Duration() (d metav1.Duration, ok bool) {
	var err error
	d.Duration, err = time.ParseDuration(f.Text())
	return d, err == nil
}

// Fail reports that the field is wrong, so that nothing is converted.
func (f Field) Fail(format string, args ...any) { f.Object.Fail(f.Path, format, args...) }

// record adds a note to the field, if it exists.
func (f Field) record(outcome Outcome, format string, args ...any) {
	if f.Exists() {
		f.Object.Note(outcome, f.Path, format, args...)
	}
}

// Became notes what the field is in Cairn.
func (f Field) Became(format string, args ...any) { f.record(Became, format, args...) }

// NotNeeded notes why Cairn does not need it.
func (f Field) NotNeeded(format string, args ...any) { f.record(NotNeeded, format, args...) }

// Unsupported notes that Cairn has nothing like it, and what to do.
func (f Field) Unsupported(format string, args ...any) { f.record(Unsupported, format, args...) }

// Ignored notes that the other system ignores it.
func (f Field) Ignored(format string, args ...any) { f.record(Ignored, format, args...) }

// ToDo notes what the user has to do.
func (f Field) ToDo(format string, args ...any) { f.record(ToDo, format, args...) }

// NoteUnknown adds a note to each field in this one that has none.
func (f Field) NoteUnknown() {
	if !f.Exists() || f.Path != "" && f.HasNote() {
		return
	}
	switch value := f.Value.(type) {
	case map[string]any:
		if len(value) > 0 {
			for _, in := range f.Fields() {
				in.NoteUnknown()
			}
			return
		}
	case []any:
		if len(value) > 0 {
			for _, in := range f.Items() {
				in.NoteUnknown()
			}
			return
		}
	}
	f.Object.Note(Unknown, f.Path, "left out: nothing is known of this field")
}

// plainName is a name that needs no quotes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// join returns the path of a field in another; two fields never have the same.
func join(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// TypeName is what kind of value it is, in words.
func TypeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	return "a number"
}

// plain takes the package's name off an error of JSON.
func plain(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
