package planfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"

	"cairn.dev/cairn/internal/engine"
)

// key of a change of a resource.
func (c change) key() string { return c.address + " " + c.deposed }

func (d *document) changes(raw json.RawMessage) error {
	return d.resources("resource_changes", raw, d.file.changes, func(change) bool { return true })
}

func (d *document) drift(raw json.RawMessage) error {
	return d.resources("resource_drift", raw, d.file.drift, func(c change) bool {
		return c.action != noOp || d.file.refreshOnly // which moves resources of the state
	})
}

// resources compares a list of changes. Those that must be in it are required.
func (d *document) resources(list string, raw json.RawMessage, file []change, required func(change) bool) error {
	left := make(map[string]change, len(file))
	for _, c := range file {
		left[c.key()] = c
	}
	err := d.list(raw, func(o object) (object, error) {
		address := o.text("address")
		key := address + " " + o.text("deposed")
		c, ok := left[key]
		if !ok {
			return nil, mismatch("%s: the plan file has no change of %.200s", list, address)
		}
		delete(left, key)
		if o.text("previous_address") != c.previous || o.text("provider_name") != providerOf(c.provider) ||
			!isAt(o, c.address) {
			return nil, mismatch("%s: %.200s is another resource in the plan file", list, address)
		}
		shown, err := c.shown(o.object("change"), placeOf(c.address).mode)
		if err != nil {
			return nil, mismatch("%s: %.200s: %v", list, address, err)
		}
		o = o.only("address", "previous_address", "module_address", "mode", "type", "name", "index", "provider_name",
			"deposed",
			"action_reason")
		o["change"] = shown
		return o, nil
	})
	if err != nil {
		return err
	}
	for _, c := range left {
		// Engines delete data sources from the state without showing it.
		if required(c) && (c.action != remove || placeOf(c.address).mode != tfjson.DataResourceMode) {
			return mismatch("%s: the change of %.200s in the plan file is missing", list, c.address)
		}
	}
	return nil
}

// isAt reports that JSON shows where the resource with an address is declared.
func isAt(o object, address string) bool {
	p := placeOf(address)
	return o.text("module_address") == p.module && o.text("mode") == string(p.mode) && o.text("type") == p.kind &&
		o.text("name") == p.name && hasKey(address, o["index"])
}

// shown compares how a change is shown, and returns it.
func (c change) shown(o object, mode tfjson.ResourceMode) (object, error) {
	if err := c.verifyActions(o); err != nil {
		return nil, err
	}
	if mode == ephemeral { // the engine shows no values
		return o.only("actions"), same(isNothing(o["before"]) && isNothing(o["after"]))
	}
	for _, part := range []struct {
		what           string
		value          []byte
		shown, unknown any
	}{
		{"before the change", c.before, o["before"], nil},
		{"after the change", c.after, o["after"], o["after_unknown"]},
	} {
		if err := sameValue(part.value, part.shown, part.unknown); err != nil {
			return nil, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	return o.only("actions", "before", "after", "after_unknown", "before_sensitive", "after_sensitive", "replace_paths",
		"importing",
		"generated_config", "before_identity", "after_identity"), nil
}

// verifyActions compares what a change does, and by what it is identified.
func (c change) verifyActions(o object) error {
	shown, _ := o["actions"].([]any)
	var words tfjson.Actions
	for _, word := range shown {
		text, _ := word.(string)
		words = append(words, tfjson.Action(text))
	}
	if want := actions[c.action].actions; !slices.Equal(words, want) {
		return mismatch("its actions are %q in the plan file, not %q", want, words)
	}
	importing := o.object("importing")
	if c.importing != (importing != nil) || importing.text("id") != c.importID ||
		sameKnown(c.importIdentity, importing["identity"]) != nil {
		return errors.New("its import is another one in the plan file")
	}
	for name, value := range map[string][]byte{"before_identity": c.beforeIdentity, "after_identity": c.afterIdentity} {
		if sameKnown(value, o[name]) != nil {
			return errors.New("its identity is another one in the plan file")
		}
	}
	return nil
}

func (d *document) outputs(raw json.RawMessage) error {
	left := maps.Clone(d.file.outputs)
	err := d.members(raw, func(name string, o object) (object, error) {
		c, ok := left[name]
		if !ok {
			return nil, mismatch("output_changes: the plan file has no change of %.200s", name)
		}
		delete(left, name)
		shown, err := c.shown(o, "")
		if err != nil {
			return nil, mismatch("output_changes: %.200s: %v", name, err)
		}
		return shown, nil
	})
	if err != nil {
		return err
	}
	for name := range left {
		return mismatch("output_changes: the change of %.200s in the plan file is missing", name)
	}
	return nil
}

// variables compares those that were set. The others have the defaults of the code.
func (d *document) variables(raw json.RawMessage) error {
	left := maps.Clone(d.file.variables)
	err := d.members(raw, func(name string, o object) (object, error) {
		if value, set := left[name]; set && sameKnown(value, o["value"]) != nil {
			return nil, mismatch("variable %.100s has another value in the plan file", name)
		}
		delete(left, name)
		return o.only("value"), nil
	})
	if err != nil {
		return err
	}
	for name, value := range left {
		if len(value) > 0 { // ephemeral ones have none
			return mismatch("variables: %.100s of the plan file is missing", name)
		}
	}
	return nil
}

// gone are the addresses of the resources of the state that no longer exist.
func (f *File) gone() []string {
	var all []string
	for _, c := range f.drift {
		if c.action == remove && c.deposed == "" {
			all = append(all, c.address)
		}
	}
	return all
}

// IsRefreshOnly reports whether the apply of the plan writes to the state what changed outside of the engine, and
// changes no resource (-refresh-only).
func (f *File) IsRefreshOnly() bool { return f.refreshOnly }

// accepted is what a plan with -refresh-only writes to the state, beside the removal of what is gone.
func (f *File) accepted() engine.Changes {
	var all engine.Changes
	for _, c := range f.drift {
		switch one := (engine.ResourceChange{Address: c.address, Action: engine.Refresh}); {
		case c.action == remove && c.deposed == "": // gone has it
		case c.action == remove:
			one.Action = engine.Forget
			all = append(all, one)
		case c.action == noOp && c.previous != "":
			one.Action = engine.Move
			all = append(all, one)
		default:
			all = append(all, one)
		}
	}
	for _, l := range f.goneLeftovers {
		all = append(all, engine.ResourceChange{Address: l.address, Action: engine.Forget})
	}
	return all
}

// Changes are what the plan does to resources, as the events of an engine report it, and the actions that it invokes.
// Of a plan with -refresh-only they are what the state gets.
func (f *File) Changes() engine.Changes {
	var all engine.Changes
	for _, c := range f.changes {
		if placeOf(c.address).mode != tfjson.ManagedResourceMode {
			continue
		}
		add := func(actions ...engine.Action) {
			for _, a := range actions {
				all = append(all, engine.ResourceChange{Address: c.address, Action: a, Imported: c.importing})
			}
		}
		switch is := actions[c.action].actions; {
		case is.NoOp() && c.importing:
			add(engine.Import)
		case is.NoOp() && c.previous != "":
			add(engine.Move)
		case is.Create():
			add(engine.Create)
		case is.Update():
			add(engine.Update)
		case is.Delete():
			add(engine.Delete)
		case is.Replace():
			add(engine.Replace)
		case is.Forget():
			add(engine.Forget)
		case len(is) == 2: // forget and create
			add(engine.Forget, engine.Create)
		}
	}
	all.Forget(f.gone())
	if f.refreshOnly {
		all = append(all, f.accepted()...)
	}
	for _, i := range f.invocations {
		all = append(all, engine.ResourceChange{Address: i.address, Action: engine.Invoke})
	}
	all.Sort()
	return all
}
