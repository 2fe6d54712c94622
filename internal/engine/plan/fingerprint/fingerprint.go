// Package fingerprint finds out whether two plans do the same, such as that of a pull request and that of its merge.
package fingerprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNone means that a plan has no fingerprint: it has members that are not known here, or the engine failed while it
// created it.
var ErrNone = errors.New("the plan cannot be compared with others")

func none(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNone, fmt.Sprintf(format, args...))
}

// Of returns a text that is the same for two plans exactly if they do the same: the changes of resources, outputs and
// actions with all values, moves, imports, replacements, deferred changes, the configuration of providers, and
// provisioners. The order of changes, the time and what changes nothing do not count; neither does drift, which an
// apply of the plan does not correct. If the configuration of a provider or a provisioner refers to values, the
// variables count too, and if it refers to others than variables, all that the plan read.
//
// The document is the JSON of the plan as the engine prints it, nothing hidden, so the text has the values of
// secrets: hash it with a key. What the plan is applied with is not in it: the version and the image of the engine,
// the environment, and code that the plan does not show, such as the locals and arguments of modules that a provider
// refers to, and the files that a provisioner reads. Who compares the plans of two Runs has to compare these inputs
// too.
func Of(document []byte) ([]byte, error) {
	what, err := Read(document)
	if err != nil {
		return nil, err
	}
	return what.Text()
}

// Read returns what a plan does.
func Read(document []byte) (*Effects, error) {
	r := reader{decoder: json.NewDecoder(bytes.NewReader(document))}
	r.decoder.UseNumber()
	if err := r.members(r.member); err != nil {
		return nil, err
	}
	if r.refers >= toVariables {
		r.what.Variables = r.variables
	}
	if r.refers >= toOthers {
		r.what.Read = r.read
	}
	return &Effects{r.what}, nil
}

// Effects are what a plan does.
type Effects struct{ all effects }

// Text returns what Of does.
func (e *Effects) Text() ([]byte, error) { return json.Marshal(e.all) }

// effects is what a plan does.
type effects struct {
	Resources, Deferred, Actions, Outputs list
	Partial                               bool
	Providers                             map[string]any
	Provisioners                          list
	// Variables and Read are values that providers and provisioners may refer to; nil if none does.
	Variables, Read json.RawMessage
}

// list has elements whose order does not count.
type list []json.RawMessage

// MarshalJSON sorts the elements.
func (l list) MarshalJSON() ([]byte, error) {
	slices.SortFunc(l, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return json.Marshal([]json.RawMessage(l))
}

func (l *list) add(element any) error {
	data, err := json.Marshal(element)
	*l = append(*l, data)
	return err
}

type reader struct {
	decoder *json.Decoder
	what    effects
	// refers is what the configuration of providers and provisioners refers to at most.
	refers          reference
	variables, read json.RawMessage
}

// reference is what an expression refers to.
type reference int

const (
	// toVariables of the root module. Less is to nothing.
	toVariables reference = iota + 1
	// toOthers: the plan does not show the value, or shows it among what it read.
	toOthers
)

// member reads a member of the plan.
func (r *reader) member(name string) error {
	switch name {
	case "resource_changes":
		return r.elements(func(o object) error { return r.what.Resources.change(o, resourceMembers) })
	case "output_changes":
		return r.members(r.output)
	case "action_invocations":
		return r.elements(r.action)
	case "deferred_changes":
		return r.elements(r.deferred)
	case "configuration":
		return r.configuration()
	case "complete":
		complete, err := read[bool](r)
		r.what.Partial = !complete
		return err
	case "errored":
		if failed, err := read[bool](r); err != nil || failed {
			return errors.Join(err, none("the engine could not plan everything"))
		}
		return nil
	case "format_version":
		version, err := read[string](r)
		if err == nil && !strings.HasPrefix(version, "1.") {
			err = none("its format is %.20q", version)
		}
		return err
	case "variables":
		variables, err := read[any](r) // sorts the members
		if err == nil {
			r.variables, err = json.Marshal(variables)
		}
		return err
	case "prior_state":
		var err error
		r.read, err = read[json.RawMessage](r)
		return err
	case "terraform_version", "applyable", "resource_drift", "planned_values", "relevant_attributes", "checks",
		"timestamp":
		_, err := read[json.RawMessage](r)
		return err
	}
	return none("it has %.50q", name)
}

// Members that are known, by whether they count.
type members map[string]bool

var (
	// The reason of an action, and the module, which the address has, change nothing.
	resourceMembers = members{
		"address": true, "previous_address": true, "module_address": false, "mode": true, "type": true, "name": true,
		"index":         true,
		"provider_name": true, "deposed": true, "change": true, "action_reason": false,
	}
	changeMembers = members{
		"actions": true, "before": true, "after": true, "after_unknown": true, "before_sensitive": true,
		"after_sensitive": true,
		"replace_paths":   true, "importing": true, "generated_config": true, "before_identity": true,
		"after_identity": true,
	}
	outputMembers = members{"name": true, "change": true}
	actionMembers = members{
		"address": true, "type": true, "name": true, "config_values": true, "config_sensitive": true,
		"config_unknown": true,
		"provider_name":  true, "lifecycle_action_trigger": true, "invoke_action_trigger": true,
	}
	deferredMembers = members{"reason": true, "resource_change": true}
)

type object map[string]any

// only removes the members that do not count. One that is not known is an ErrNone.
func (o object) only(known members) error {
	for name := range o {
		counts, ok := known[name]
		if !ok {
			return none("a change has %.50q", name)
		}
		if !counts {
			delete(o, name)
		}
	}
	return nil
}

// change adds the change of a resource or an output, unless there is none.
func (l *list) change(o object, known members) error {
	if err := o.only(known); err != nil {
		return err
	}
	if nothing, err := o.readChange(); err != nil || nothing {
		return err
	}
	return l.add(o)
}

// readChange reports whether the change of a resource or an output changes nothing.
func (o object) readChange() (nothing bool, err error) {
	of, ok := o["change"].(map[string]any)
	if !ok {
		return false, none("a change has no actions")
	}
	if err := object(of).only(changeMembers); err != nil {
		return false, err
	}
	if paths, ok := of["replace_paths"].([]any); ok {
		var sorted list
		for _, p := range paths {
			if err := sorted.add(p); err != nil {
				return false, err
			}
		}
		of["replace_paths"] = sorted
	}
	actions, ok := of["actions"].([]any)
	if !ok {
		return false, none("a change has no actions")
	}
	return len(actions) == 1 && actions[0] == "no-op" && of["importing"] == nil && o["previous_address"] == nil, nil
}

func (r *reader) output(name string) error {
	change, err := read[any](r)
	if err != nil {
		return err
	}
	return r.what.Outputs.change(object{"name": name, "change": change}, outputMembers)
}

func (r *reader) action(o object) error {
	if err := o.only(actionMembers); err != nil {
		return err
	}
	return r.what.Actions.add(o)
}

func (r *reader) deferred(o object) error {
	if err := o.only(deferredMembers); err != nil {
		return err
	}
	resource, _ := o["resource_change"].(map[string]any)
	if err := object(resource).only(resourceMembers); err != nil {
		return err
	}
	if _, err := object(resource).readChange(); err != nil {
		return err
	}
	return r.what.Deferred.add(o)
}

// module is a module of the configuration.
type module struct {
	Resources []struct {
		Address      string `json:"address"`
		Provisioners []any  `json:"provisioners"`
	} `json:"resources"`
	ModuleCalls map[string]struct {
		Module module `json:"module"`
	} `json:"module_calls"`
}

func (r *reader) configuration() error {
	c, err := read[struct {
		Providers map[string]any `json:"provider_config"`
		Root      module         `json:"root_module"`
	}](r)
	r.what.Providers = c.Providers
	for _, p := range c.Providers {
		provider, _ := p.(map[string]any)
		r.refers = max(r.refers, refersTo(provider["expressions"], provider["module_address"] == nil))
	}
	return errors.Join(err, r.provisioners("", c.Root))
}

// refersTo returns what expressions refer to. In another module than the root, a variable has the value of an argument.
func refersTo(expressions any, inRoot bool) (to reference) {
	switch e := expressions.(type) {
	case map[string]any:
		for name, member := range e {
			if name == "references" {
				to = max(to, namesOf(member, inRoot))
			} else {
				to = max(to, refersTo(member, inRoot))
			}
		}
	case []any:
		for _, element := range e {
			to = max(to, refersTo(element, inRoot))
		}
	}
	return to
}

// namesOf returns what names refer to. An expression may also have an argument of this name, which counts as toOthers.
func namesOf(names any, inRoot bool) (to reference) {
	list, ok := names.([]any)
	if !ok {
		return toOthers
	}
	for _, n := range list {
		name, _ := n.(string)
		switch kind, _, _ := strings.Cut(name, "."); {
		case kind == "self", kind == "each", kind == "count", kind == "path", kind == "terraform":
			// of the change, or constant
		case kind == "var" && inRoot:
			to = max(to, toVariables)
		default:
			return toOthers
		}
	}
	return to
}

// provisioners adds those of a module and the modules in it.
func (r *reader) provisioners(path string, m module) error {
	for _, resource := range m.Resources {
		if len(resource.Provisioners) == 0 {
			continue
		}
		r.refers = max(r.refers, refersTo(resource.Provisioners, path == ""))
		if err := r.what.Provisioners.add([]any{path + resource.Address, resource.Provisioners}); err != nil {
			return err
		}
	}
	for name, call := range m.ModuleCalls {
		if err := r.provisioners(path+"module."+name+".", call.Module); err != nil {
			return err
		}
	}
	return nil
}

func read[T any](r *reader) (value T, err error) {
	err = r.decoder.Decode(&value)
	return value, err
}

// members calls do for each member of the object that comes next. It reads the value.
func (r *reader) members(do func(name string) error) error {
	if start, err := r.decoder.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(err, none("it is not the JSON of a plan"))
	}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := do(name); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}

// elements calls do for each object of the list that comes next.
func (r *reader) elements(do func(object) error) error {
	if start, err := r.decoder.Token(); err != nil || start != json.Delim('[') {
		return errors.Join(err, none("it is not the JSON of a plan"))
	}
	for r.decoder.More() {
		o, err := read[object](r)
		if err != nil {
			return err
		}
		if err := do(o); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}
