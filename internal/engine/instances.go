package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/base/jsonsize"
)

// Instances are the resources of a state, one by one, to read and change them: the rest of the state
// stays as it was written.
type Instances struct {
	top       map[string]json.RawMessage
	resources []resource
}

type resource struct {
	fields    map[string]json.RawMessage
	address   string
	kind      string
	instances []instance
}

// instance of a resource.
type instance struct {
	fields  map[string]json.RawMessage
	address string
	deposed bool
}

// Managed is how many instances there are of resources that the code manages: what is only read is none.
func (s *Instances) Managed() int {
	n := 0
	for _, r := range s.resources {
		if string(r.fields["mode"]) != `"data"` {
			n += len(r.instances)
		}
	}
	return n
}

// errEncrypted reports that an engine encrypted a state, so that it cannot be read.
var errEncrypted = &Rejection{Reason: "the engine encrypts the state"}

// mostValues is how many values a state may have for it to be looked into: each takes memory, however short it is.
const mostValues = 2_000_000

var errMany = &Rejection{Reason: fmt.Sprintf("it has more than %d values", mostValues)}

// HasTooMany reports whether a state has more values than there is memory for, so that it cannot be read.
func HasTooMany(state []byte) bool { return jsonsize.HasMoreValues(state, mostValues) }

// ReadInstances reads a state; an empty one when there are no bytes. For a state that the engine encrypted, or that has
// too many values, the error is a *Rejection.
func ReadInstances(state []byte) (*Instances, error) {
	s := &Instances{}
	if len(state) == 0 {
		return s, nil
	}
	if HasTooMany(state) {
		return nil, errMany
	}
	if err := json.Unmarshal(state, &s.top); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if _, encrypted := s.top["encrypted_data"]; encrypted {
		return nil, errEncrypted
	}
	var resources []map[string]json.RawMessage
	if err := parts(s.top, "resources", &resources); err != nil {
		return nil, err
	}
	for _, fields := range resources {
		r, err := readResource(fields)
		if err != nil {
			return nil, err
		}
		s.resources = append(s.resources, r)
	}
	return s, nil
}

func parts(of map[string]json.RawMessage, name string, into any) error {
	if len(of[name]) == 0 {
		return nil
	}
	if err := json.Unmarshal(of[name], into); err != nil {
		return fmt.Errorf("read the state: %s: %w", name, err)
	}
	return nil
}

func readResource(fields map[string]json.RawMessage) (resource, error) {
	r := resource{fields: fields}
	var module, mode, name string
	var instances []map[string]json.RawMessage
	for field, into := range map[string]any{"module": &module, "mode": &mode, "type": &r.kind, "name": &name,
		"instances": &instances} {
		if err := parts(fields, field, into); err != nil {
			return r, err
		}
	}
	r.address = r.kind + "." + name
	if mode == "data" {
		r.address = "data." + r.address
	}
	if module != "" {
		r.address = module + "." + r.address
	}
	for _, fields := range instances {
		i := instance{fields: fields, address: r.address, deposed: len(fields["deposed"]) > 0}
		if key, ok := fields["index_key"]; ok {
			i.address += IndexKey(key)
		}
		r.instances = append(r.instances, i)
	}
	return r, nil
}

// IndexKey writes the key of an instance in a state as engines do in addresses. Example: ["a"].
func IndexKey(key json.RawMessage) string {
	if text, ok := decode(key).(string); ok {
		return "[" + Quote(text) + "]"
	}
	return "[" + string(key) + "]"
}

// Quote returns a text as a string of the engines' language.
func Quote(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

// id is the value of an attribute; empty when there is none.
func (i instance) id(key string) string { return i.ids(map[string]bool{key: true})[key] }

// ids are the values of some attributes, those that there are.
func (i instance) ids(keys map[string]bool) map[string]string {
	var attributes map[string]json.RawMessage
	if json.Unmarshal(i.fields["attributes"], &attributes) != nil {
		return nil
	}
	ids := map[string]string{}
	for key := range keys {
		if len(attributes[key]) == 0 {
			continue
		}
		if id := decode(attributes[key]); id != nil && fmt.Sprint(id) != "" {
			ids[key] = fmt.Sprint(id)
		}
	}
	return ids
}

// Drop takes what there is at an address out of the state.
func (s *Instances) Drop(address string) {
	for r := range s.resources {
		it := &s.resources[r]
		it.instances = slices.DeleteFunc(it.instances, func(i instance) bool { return i.address == address })
	}
}

// Depose puts what another state has at an address beside what is there: the engine then destroys it.
func (s *Instances) Depose(address string, from *Instances) {
	into := slices.IndexFunc(s.resources, func(r resource) bool {
		return slices.ContainsFunc(r.instances, func(i instance) bool { return i.address == address })
	})
	if into < 0 {
		return
	}
	var old []instance
	for _, r := range from.resources {
		for _, i := range r.instances {
			if i.address != address {
				continue
			}
			fields := map[string]json.RawMessage{"deposed": json.RawMessage(`"` + deposedKey + `"`)}
			maps.Copy(fields, i.fields)
			old = append(old, instance{fields: fields, address: address, deposed: true})
		}
	}
	it := &s.resources[into]
	it.instances = append(it.instances, old...)
}

// deposedKey is a key that an engine could have created, and would not.
const deposedKey = "ca120000"

// Bytes is the state. It has the serial and the lineage of another one, so that an engine accepts its plan of this
// state as a plan of the other.
func (s *Instances) Bytes(as *Instances) ([]byte, error) {
	top := map[string]json.RawMessage{}
	maps.Copy(top, s.top)
	top["serial"], top["lineage"] = json.RawMessage("0"), json.RawMessage(`""`)
	for _, name := range []string{"serial", "lineage"} {
		if value, ok := as.top[name]; ok {
			top[name] = value
		}
	}
	resources := []map[string]json.RawMessage{}
	for _, r := range s.resources {
		if len(r.instances) == 0 {
			continue
		}
		instances := make([]map[string]json.RawMessage, len(r.instances))
		for i, it := range r.instances {
			instances[i] = it.fields
		}
		data, err := json.Marshal(instances)
		if err != nil {
			return nil, err
		}
		r.fields["instances"] = data
		resources = append(resources, r.fields)
	}
	data, err := json.Marshal(resources)
	if err != nil {
		return nil, err
	}
	top["resources"] = data
	if _, ok := top["version"]; !ok { // there was no state
		top["version"], top["terraform_version"] = json.RawMessage("4"), json.RawMessage(`"1.0.0"`)
	}
	return json.Marshal(top)
}
