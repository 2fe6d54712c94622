package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is an object of the input and what was said of its fields. Reading a field says nothing of it; a converter has to.
type object struct {
	ref Ref
	// kind of it; nil for one that is not known. rank is its place in the list of kinds.
	kind *kind
	rank int
	// stack is the name of the Stack that it becomes, if it becomes one.
	stack string
	root  field
	// told are the paths of fields of which something was said: that covers all that is in them.
	told  map[string]bool
	notes []Note
	wrong []error
}

func newObject(u unstructured.Unstructured) *object {
	o := &object{
		ref: Ref{
			APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		},
		rank: len(kinds),
		told: map[string]bool{},
	}
	o.root = field{of: o, value: withoutSecrets(u)}
	rank := kindOf(o.ref.APIVersion, o.ref.Kind)
	switch {
	case rank < 0:
		o.note(Unknown, "", "nothing is made of it: nothing is known of such objects")
	case !slices.Contains(kinds[rank].versions, u.GroupVersionKind().Version):
		o.note(Unknown, "", "nothing is made of it: of this kind the versions %s are known", strings.Join(kinds[rank].versions, ", "))
	default:
		o.kind, o.rank, o.ref.System = &kinds[rank], rank, kinds[rank].system
	}
	for i := range o.notes {
		o.notes[i].Object = o.ref
	}
	return o
}

// at is the field of that path, by its names.
func (o *object) at(names ...string) field { return o.root.at(names...) }

// note says something of a path, whether there is a field or not: of what a field that is absent means, say.
func (o *object) note(verdict Verdict, path, format string, args ...any) {
	o.told[path] = true
	n := Note{Object: o.ref, Field: path, Verdict: verdict, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.notes, n) { // what several Stacks take from one object is said once
		o.notes = append(o.notes, n)
	}
}

// fail says that the object is wrong at a path, so that nothing is converted.
func (o *object) fail(path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	o.wrong = append(o.wrong, fmt.Errorf("%s: %s%w", o.ref, path, fmt.Errorf(format, args...)))
}

// rest tells of each field that nobody spoke of.
func (o *object) rest() { o.root.rest() }

// field is a place in an object. One that is not there has no value; what is said of it is not noted.
type field struct {
	of    *object
	path  string
	name  string
	value any
}

// at is a field in this one.
func (f field) at(names ...string) field {
	for _, name := range names {
		fields, _ := f.value.(map[string]any)
		f = field{of: f.of, path: join(f.path, name), name: name, value: fields[name]}
	}
	return f
}

// there says whether the field is in the object; null is as good as absent.
func (f field) there() bool { return f.value != nil }

// items are the fields of a list.
func (f field) items() []field {
	list, ok := f.value.([]any)
	if !ok && f.there() {
		f.fail("a list is wanted, and this is %s", inWords(f.value))
	}
	items := make([]field, len(list))
	for i, value := range list {
		index := "[" + strconv.Itoa(i) + "]"
		items[i] = field{of: f.of, path: f.path + index, name: index, value: value}
	}
	return items
}

// fields are those of a map, by name.
func (f field) fields() []field {
	values, ok := f.value.(map[string]any)
	if !ok && f.there() {
		f.fail("a map is wanted, and this is %s", inWords(f.value))
	}
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, f.at(name))
	}
	return fields
}

// text is the value of a string; empty where there is none.
func (f field) text() string {
	text, ok := f.value.(string)
	if !ok && f.there() {
		f.fail("a string is wanted, and this is %s", inWords(f.value))
	}
	return text
}

// truth is the value of a boolean; false where there is none.
func (f field) truth() bool {
	truth, ok := f.value.(bool)
	if !ok && f.there() {
		f.fail("true or false is wanted, and this is %s", inWords(f.value))
	}
	return truth
}

// number is the value of a whole number; 0 where there is none.
func (f field) number() int64 {
	switch n := f.value.(type) {
	case nil:
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n)
		}
		f.fail("a whole number is wanted, and this is %v", n)
	default:
		f.fail("a whole number is wanted, and this is %s", inWords(f.value))
	}
	return 0
}

// texts is the value of a list of strings.
func (f field) texts() []string {
	var texts []string
	for _, item := range f.items() {
		texts = append(texts, item.text())
	}
	return texts
}

// textMap is the value of a map of strings.
func (f field) textMap() map[string]string {
	if !f.there() {
		return nil
	}
	texts := map[string]string{}
	for _, item := range f.fields() {
		texts[item.name] = item.text()
	}
	return texts
}

// into reads the value into a type of Kubernetes. What that type does not know is told as not known.
func (f field) into(to any) {
	if !f.there() {
		return
	}
	data, err := json.Marshal(f.value)
	if err != nil {
		f.fail("%w", err)
		return
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	unknown := strict.Decode(to)
	if unknown == nil {
		return
	}
	if err := json.Unmarshal(data, to); err != nil {
		f.fail("%w", plain(err))
		return
	}
	f.of.note(Unknown, f.path, "something in it is not known, and left out: %v", plain(unknown))
}

func (f field) fail(format string, args ...any) { f.of.fail(f.path, format, args...) }

// say notes what became of a field, if it is there.
func (f field) say(verdict Verdict, format string, args ...any) {
	if f.there() {
		f.of.note(verdict, f.path, format, args...)
	}
}

// became says what the field is in Cairn.
func (f field) became(format string, args ...any) { f.say(Became, format, args...) }

// notNeeded says why Cairn does without it.
func (f field) notNeeded(format string, args ...any) { f.say(NotNeeded, format, args...) }

// cannot says that there is nothing like it, and what to do.
func (f field) cannot(format string, args ...any) { f.say(Cannot, format, args...) }

// ignored says what the other system makes of it: nothing.
func (f field) ignored(format string, args ...any) { f.say(Ignored, format, args...) }

// todo says what a person has to do.
func (f field) todo(format string, args ...any) { f.say(Todo, format, args...) }

// rest tells of what is in this field and was not spoken of.
func (f field) rest() {
	if !f.there() || f.path != "" && f.of.told[f.path] {
		return
	}
	switch value := f.value.(type) {
	case map[string]any:
		if len(value) > 0 {
			for _, in := range f.fields() {
				in.rest()
			}
			return
		}
	case []any:
		if len(value) > 0 {
			for _, in := range f.items() {
				in.rest()
			}
			return
		}
	}
	f.of.note(Unknown, f.path, "left out: nothing is known of this field")
}

// plainName is a name that needs no quotes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// join makes the path of a field in another; two fields never have the same.
func join(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// inWords is what kind of value it is, in words.
func inWords(value any) string {
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
