package fingerprint

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// Shape returns a text that is the same for two plans exactly if they change the same in the same way, with whatever
// values: the addresses, actions, moves and imports of resources, the outputs, the actions of providers, and the paths
// of the attributes that change, each with whether it is set, removed, changed, or known after the apply only.
// Provisioners count as they are written. What differs between environments does not count: values, and the
// configuration of providers.
//
// A plan has no shape if it deletes, replaces or forgets a resource or an output, or leaves something out. The text has
// no values, but keys of maps, which can be secrets: hash it with a key.
func (e *Effects) Shape() (text []byte, ok bool, err error) {
	all := e.all
	if all.Partial || len(all.Deferred) > 0 {
		return nil, false, nil
	}
	shapes := struct{ Resources, Outputs, Actions, Provisioners list }{Provisioners: all.Provisioners}
	for _, element := range all.Resources {
		if ok, err := shapes.Resources.shape(element); err != nil || !ok {
			return nil, false, err
		}
	}
	for _, element := range all.Outputs {
		if ok, err := shapes.Outputs.shape(element); err != nil || !ok {
			return nil, false, err
		}
	}
	for _, element := range all.Actions {
		o, err := decode(element)
		if err != nil {
			return nil, false, err
		}
		paths := changedPaths(nil, o["config_values"], o["config_unknown"])
		delete(o, "config_values")
		delete(o, "config_unknown")
		if err := shapes.Actions.add([]any{o, paths}); err != nil {
			return nil, false, err
		}
	}
	text, err = json.Marshal(shapes)
	return text, err == nil, err
}

// harmless are the actions that a shape can have. Any other deletes or forgets, or is not known here.
var harmless = []any{"no-op", "create", "read", "update"}

// shape adds the shape of the change of a resource or an output; false if it has none.
func (l *list) shape(element json.RawMessage) (ok bool, err error) {
	o, err := decode(element)
	if err != nil {
		return false, err
	}
	change, _ := o["change"].(map[string]any)
	actions, _ := change["actions"].([]any)
	if len(actions) != 1 || !slices.Contains(harmless, actions[0]) ||
		o["deposed"] != nil || change["generated_config"] != nil {
		return false, nil
	}
	delete(o, "change")
	return true, l.add([]any{
		o, actions[0], change["importing"] != nil,
		changedPaths(change["before"], change["after"], change["after_unknown"]),
		changedPaths(change["before_sensitive"], change["after_sensitive"], nil),
	})
}

func decode(element json.RawMessage) (o map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(element))
	d.UseNumber()
	err = d.Decode(&o)
	return o, err
}

// changedPath is a path of an attribute, and how it changes.
type changedPath struct {
	Path []any
	How  string
}

// changedPaths returns the paths at which two values differ, or at which the second one is not known.
func changedPaths(before, after, unknown any) list {
	paths := list{}
	differ(nil, before, after, unknown, func(p changedPath) {
		text, _ := json.Marshal(p) // names and indexes
		paths = append(paths, text)
	})
	return paths
}

func differ(path []any, before, after, unknown any, add func(changedPath)) {
	if all, ok := unknown.(bool); ok {
		if all {
			add(changedPath{path, "unknown"})
			return
		}
		unknown = nil
	}
	if names, ok := namesIn(before, after, unknown); ok {
		for name := range names {
			differ(append(slices.Clip(path), name), in(before, name), in(after, name), in(unknown, name), add)
		}
		return
	}
	switch {
	case reflect.DeepEqual(before, after):
	case before == nil:
		add(changedPath{path, "set"})
	case after == nil:
		add(changedPath{path, "removed"})
	default:
		add(changedPath{path, "changed"})
	}
}

// namesIn returns the names or indexes of all members of values; false unless those that are not null are all objects,
// or all lists, and one has a member.
func namesIn(values ...any) (names map[any]bool, ok bool) {
	names = map[any]bool{}
	objects, lists := false, false
	for _, v := range values {
		switch of := v.(type) {
		case nil:
		case map[string]any:
			objects = true
			for name := range of {
				names[name] = true
			}
		case []any:
			lists = true
			for i := range of {
				names[i] = true
			}
		default:
			return nil, false
		}
	}
	return names, objects != lists && len(names) > 0
}

// in returns a member of an object or a list; nil if it has none.
func in(value, name any) any {
	switch of := value.(type) {
	case map[string]any:
		key, _ := name.(string)
		return of[key]
	case []any:
		if i, ok := name.(int); ok && i < len(of) {
			return of[i]
		}
	}
	return nil
}
