package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/jsonsize"
	"cairn.dev/cairn/internal/redact"
)

// Mismatch is a difference between the JSON of a plan and its plan file.
type Mismatch struct{ what string }

func (m *Mismatch) Error() string { return m.what }

func mismatch(format string, args ...any) error { return &Mismatch{fmt.Sprintf(format, args...)} }

// mostValues is how many values the JSON of a plan may have: one takes up to some hundred bytes while it is compared.
const mostValues = 2_000_000

// ErrTooManyValues means that the JSON of a plan has too many values to be compared.
var ErrTooManyValues = fmt.Errorf("the JSON of the plan has more than %d values", mostValues)

// shownChange is a change in JSON.
type shownChange struct {
	Actions      tfjson.Actions    `json:"actions"`
	Before       any               `json:"before"`
	After        any               `json:"after"`
	AfterUnknown any               `json:"after_unknown"`
	Importing    *tfjson.Importing `json:"importing"`
}

// Verify checks the JSON of a plan (`show -json`, with values hidden) against the plan file. A part of it that differs
// is a Mismatch: the changes of resources and outputs, drift, planned values, and the variables that were set. The
// configuration, the prior state, checks and the defaults of variables are not in the plan file in this form, and are
// not checked.
//
// ErrTooManyValues means that the JSON would take too much memory.
func (f *File) Verify(shown []byte) error {
	if jsonsize.HasMoreValues(shown, mostValues) {
		return ErrTooManyValues
	}
	var all struct {
		EngineVersion string                     `json:"terraform_version"`
		Changes       json.RawMessage            `json:"resource_changes"`
		Drift         json.RawMessage            `json:"resource_drift"`
		Outputs       map[string]json.RawMessage `json:"output_changes"`
		Variables     map[string]json.RawMessage `json:"variables"`
		PlannedValues plannedValues              `json:"planned_values"`
	}
	if err := json.Unmarshal(shown, &all); err != nil {
		return mismatch("it is not the JSON of a plan")
	}
	if all.EngineVersion != f.EngineVersion {
		return mismatch("engine version %.40q, in the plan file %.40q", all.EngineVersion, f.EngineVersion)
	}
	if err := verifyChanges("resource_changes", f.changes, all.Changes, func(c change) bool { return true }); err != nil {
		return err
	}
	if err := verifyChanges("resource_drift", f.drift, all.Drift, func(c change) bool { return c.action != noOp }); err != nil {
		return err
	}
	if err := f.verifyOutputs(all.Outputs); err != nil {
		return err
	}
	for name, value := range f.variables {
		var v shownValue
		raw, ok := all.Variables[name]
		if !ok { // its name may be masked
			continue
		}
		if decodeJSON(raw, &v) != nil || sameKnown(value, v.Value) != nil {
			return mismatch("variable %.100s has another value in the plan file", name)
		}
	}
	return f.verifyPlanned(all.PlannedValues)
}

func decodeJSON(data []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// key of a change of a resource.
func (c change) key() string { return c.address + " " + c.deposed }

// take removes from a map what JSON shows under a name, in which secrets may be masked.
func take(all map[string]change, shown string) (c change, ok bool) {
	name := shown
	if c, ok = all[shown]; !ok && strings.Contains(shown, redact.Mask) {
		for name, c = range all {
			if ok = matches(name, shown); ok {
				break
			}
		}
	}
	if ok {
		delete(all, name)
	}
	return c, ok
}

// shows reports that JSON shows a text, in which secrets may be masked.
func shows(shown, text string) bool { return shown == text || matches(text, shown) }

// verifyChanges checks a list of changes. Those that must be in it are required.
func verifyChanges(list string, file []change, shown json.RawMessage, required func(change) bool) error {
	left := map[string]change{}
	for _, c := range file {
		if _, twice := left[c.key()]; twice {
			return fmt.Errorf("%w: it changes %.200s twice", ErrUnreadable, c.address)
		}
		left[c.key()] = c
	}
	err := elements(shown, func(raw []byte) error {
		var s struct {
			Address  string              `json:"address"`
			Previous string              `json:"previous_address"`
			Module   string              `json:"module_address"`
			Mode     tfjson.ResourceMode `json:"mode"`
			Type     string              `json:"type"`
			Name     string              `json:"name"`
			Provider string              `json:"provider_name"`
			Deposed  string              `json:"deposed"`
			Change   shownChange         `json:"change"`
		}
		if decodeJSON(raw, &s) != nil {
			return mismatch("%s: a change cannot be read", list)
		}
		c, ok := take(left, s.Address+" "+s.Deposed)
		if !ok {
			return mismatch("%s: the plan file has no change of %.200s", list, s.Address)
		}
		if !shows(s.Previous, c.previous) || !shows(s.Provider, providerOf(c.provider)) || !placeOf(c.address).is(s.Module, s.Mode, s.Type, s.Name) {
			return mismatch("%s: %.200s is another resource in the plan file", list, s.Address)
		}
		if err := c.verify(s.Change, s.Mode); err != nil {
			return mismatch("%s: %.200s: %v", list, s.Address, err)
		}
		return nil
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

// verify checks how a change is shown.
func (c change) verify(s shownChange, mode tfjson.ResourceMode) error {
	if want := actions[c.action].actions; !slices.Equal(s.Actions, want) {
		return fmt.Errorf("its actions are %q in the plan file, not %q", want, s.Actions)
	}
	if c.importing != (s.Importing != nil) || (s.Importing != nil && !sameText(c.importID, s.Importing.ID)) {
		return fmt.Errorf("its import is another one in the plan file")
	}
	if mode == ephemeral { // the engine shows no values
		return same(isNothing(s.Before) && isNothing(s.After))
	}
	if err := sameValue(c.before, s.Before, nil); err != nil {
		return fmt.Errorf("before the change: %w", err)
	}
	if err := sameValue(c.after, s.After, s.AfterUnknown); err != nil {
		return fmt.Errorf("after the change: %w", err)
	}
	return nil
}

func (f *File) verifyOutputs(shown map[string]json.RawMessage) error {
	left := maps.Clone(f.outputs)
	for name, raw := range shown {
		var s shownChange
		c, ok := take(left, name)
		if !ok {
			return mismatch("output_changes: the plan file has no change of %.200s", name)
		}
		if decodeJSON(raw, &s) != nil {
			return mismatch("output_changes: the change of %.200s cannot be read", name)
		}
		if err := c.verify(s, ""); err != nil {
			return mismatch("output_changes: %.200s: %v", name, err)
		}
	}
	for name := range left {
		return mismatch("output_changes: the change of %.200s in the plan file is missing", name)
	}
	return nil
}

// plannedValues are the values after the apply in JSON.
type plannedValues struct {
	Outputs map[string]json.RawMessage `json:"outputs"`
	Root    module                     `json:"root_module"`
}

type module struct {
	Resources []json.RawMessage `json:"resources"`
	Modules   []module          `json:"child_modules"`
}

func (f *File) verifyPlanned(shown plannedValues) error {
	left := map[string]change{}
	for _, c := range f.changes {
		if c.deposed == "" && c.action != remove {
			left[c.address] = c
		}
	}
	if err := verifyModule(shown.Root, left); err != nil {
		return err
	}
	for address := range left {
		if placeOf(address).mode != ephemeral {
			return mismatch("planned_values: %.200s of the plan file is missing", address)
		}
	}
	outputs := maps.Clone(f.outputs)
	maps.DeleteFunc(outputs, func(_ string, c change) bool { return c.action == remove })
	for name, raw := range shown.Outputs {
		var s shownValue
		c, ok := take(outputs, name)
		if !ok || decodeJSON(raw, &s) != nil || (s.Value != nil || isKnown(c.after)) && sameKnown(c.after, s.Value) != nil {
			return mismatch("planned_values: output %.200s is another one in the plan file", name)
		}
	}
	for name := range outputs {
		return mismatch("planned_values: output %.200s of the plan file is missing", name)
	}
	return nil
}

// shownValue is a variable or an output in JSON.
type shownValue struct {
	Value any `json:"value"`
}

func verifyModule(m module, left map[string]change) error {
	for _, raw := range m.Resources {
		var s struct {
			Address string              `json:"address"`
			Mode    tfjson.ResourceMode `json:"mode"`
			Type    string              `json:"type"`
			Name    string              `json:"name"`
			Values  any                 `json:"values"`
		}
		if decodeJSON(raw, &s) != nil {
			return mismatch("planned_values: a resource cannot be read")
		}
		c, ok := take(left, s.Address)
		where := placeOf(c.address)
		if !ok || !where.is(where.module, s.Mode, s.Type, s.Name) {
			return mismatch("planned_values: the plan file has no such resource %.200s", s.Address)
		}
		if err := sameKnown(c.after, s.Values); err != nil {
			return mismatch("planned_values: %.200s: %v", s.Address, err)
		}
	}
	for _, child := range m.Modules {
		if err := verifyModule(child, left); err != nil {
			return err
		}
	}
	return nil
}

// elements calls do for each element of a list; null is an empty one.
func elements(list json.RawMessage, do func([]byte) error) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(list))
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return mismatch("a list of changes is none")
	}
	for decoder.More() {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return mismatch("a list of changes is none")
		}
		if err := do(element); err != nil {
			return err
		}
	}
	return nil
}

// Changes are what the plan does to resources, as the events of an engine report it.
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
	all.Sort()
	return all
}
