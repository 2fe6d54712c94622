// Package statefile reads an engine's state for users: its resources, their attributes without secrets, and the
// differences of two versions. It does not import Kubernetes and starts no engine and no provider: it reads the file
// format 4.
package statefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
)

// State is an engine's state.
type State struct {
	// Engine is the version of the engine that wrote it.
	Engine string
	// Serial increases with each write; Lineage is generated for the first one.
	Serial  uint64
	Lineage string
	// Outputs of the root module by name, with sensitive values as Secret.
	Outputs map[string]any
	// Resources in the order in which the engine lists them.
	Resources []Resource
}

// Resource is one instance of a resource.
type Resource struct {
	// Address as the engine writes it. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Module that it is in; empty for the root module.
	Module string `json:"module,omitempty"`
	// Mode is managed or data.
	Mode string `json:"mode"`
	Type string `json:"type"`
	Name string `json:"name"`
	// Key among the instances of one resource, a text or a number.
	Key any `json:"key,omitempty"`
	// Provider as the state writes it.
	Provider string `json:"provider"`
	// Deposed is the key of an object that was replaced and still has to be destroyed.
	Deposed string `json:"deposed,omitempty"`
	// Tainted is true if the next plan replaces it.
	Tainted bool `json:"tainted,omitempty"`
	// Attributes with sensitive values as Secret.
	Attributes any `json:"-"`

	// rest is the other data of the engine in the state, without the private data of the provider.
	rest string
}

// ErrEncrypted is the error of a state that the engine encrypted.
var ErrEncrypted = errors.New("the engine encrypted this state: only an engine with the key can read it, " +
	"for example with cairn state pull and tofu show")

type file struct {
	Version    int    `json:"version"`
	Engine     string `json:"terraform_version"`
	Encryption string `json:"encryption_version"`
	Serial     uint64 `json:"serial"`
	Lineage    string `json:"lineage"`
	Outputs    map[string]struct {
		Value     json.RawMessage `json:"value"`
		Sensitive bool            `json:"sensitive"`
	} `json:"outputs"`
	Resources []struct {
		Module    string     `json:"module"`
		Mode      string     `json:"mode"`
		Type      string     `json:"type"`
		Name      string     `json:"name"`
		Provider  string     `json:"provider"`
		Instances []instance `json:"instances"`
	} `json:"resources"`
}

type instance struct {
	Key        json.RawMessage     `json:"index_key"`
	Status     string              `json:"status"`
	Deposed    string              `json:"deposed"`
	Provider   string              `json:"provider"`
	Attributes json.RawMessage     `json:"attributes"`
	Flat       map[string]string   `json:"attributes_flat"`
	Sensitive  [][]engine.PathStep `json:"sensitive_attributes"`

	SchemaVersion       json.RawMessage `json:"schema_version"`
	Dependencies        json.RawMessage `json:"dependencies"`
	CreateBeforeDestroy bool            `json:"create_before_destroy"`
	Identity            json.RawMessage `json:"identity"`
}

// Parse parses a state. The error is ErrEncrypted for an encrypted one.
func Parse(data []byte) (*State, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	switch {
	case f.Encryption != "":
		return nil, ErrEncrypted
	case f.Version != 4:
		return nil, fmt.Errorf("read the state: format %d is not supported, only 4", f.Version)
	}
	known, err := engine.ParseState(data)
	if err != nil {
		return nil, err
	}
	m := masker{redact.New()}
	m.secrets.Add(redact.Leaves(known.Secrets)...)

	s := &State{Engine: f.Engine, Serial: f.Serial, Lineage: f.Lineage, Outputs: map[string]any{}}
	for name, o := range f.Outputs {
		value, err := decode(o.Value)
		if err != nil {
			return nil, fmt.Errorf("read output %q of the state: %w", name, err)
		}
		if o.Sensitive {
			s.Outputs[name] = Secret{value}
		} else {
			s.Outputs[name] = m.mask(value, nil, isSecretName(name))
		}
	}
	for _, r := range f.Resources {
		for _, i := range r.Instances {
			resource, err := m.resource(Resource{
				Module: r.Module, Mode: r.Mode, Type: r.Type, Name: r.Name, Provider: cmp.Or(i.Provider, r.Provider),
				Deposed: i.Deposed, Tainted: i.Status == "tainted",
			}, i)
			if err != nil {
				return nil, err
			}
			s.Resources = append(s.Resources, resource)
		}
	}
	slices.SortStableFunc(s.Resources, order)
	return s, nil
}

// resource completes a resource with the data of an instance.
func (m masker) resource(r Resource, i instance) (Resource, error) {
	var err error
	if r.Key, err = decode(i.Key); err != nil {
		return r, fmt.Errorf("read the state: the key of an instance of %s.%s: %w", r.Type, r.Name, err)
	}
	r.Address = address(r)
	attributes, err := decode(i.Attributes)
	if err != nil {
		return r, fmt.Errorf("read the state: the attributes of %s: %w", r.Address, err)
	}
	if attributes == nil && i.Flat != nil { // written by an engine before 0.12
		flat := map[string]any{}
		for name, value := range i.Flat {
			flat[name] = value
		}
		attributes = flat
	}
	r.Attributes = m.mask(attributes, i.Sensitive, false)
	r.rest = fmt.Sprintf("%s %s %s %t",
		i.SchemaVersion, compact(i.Dependencies), compact(i.Identity), i.CreateBeforeDestroy)
	return r, nil
}

// decode parses a JSON value, with numbers as they are written. It returns nil for no data.
func decode(data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

func compact(data []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return string(data)
	}
	return out.String()
}

// Find returns the resource with an address, and its deposed objects.
func (s *State) Find(address string) []Resource {
	return s.where(func(r Resource) bool { return r.Address == address })
}

// Below returns the resources of a module, or the instances of a resource.
func (s *State) Below(address string) []Resource {
	return s.where(func(r Resource) bool { return below(r.Address, address) })
}

func (s *State) where(is func(Resource) bool) []Resource {
	var found []Resource
	for _, r := range s.Resources {
		if is(r) {
			found = append(found, r)
		}
	}
	return found
}
