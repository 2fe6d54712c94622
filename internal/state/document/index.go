package document

import (
	"encoding/json"
	"fmt"
	"strings"

	"cairn.dev/cairn/internal/base/jsonsize"
	"cairn.dev/cairn/internal/engine"
)

// An Index lists the managed resource instances of a state, without their attributes: addresses and types.
type Index struct {
	// SHA256 of the state, as status.sha256 of a State has it.
	SHA256    string            `json:"sha256"`
	Resources []IndexedResource `json:"resources"`
	// Omitted is how many instances are left out because of MaxIndex or MaxAddress.
	Omitted int `json:"omitted,omitempty"`
}

// IndexedResource is a resource with its instances.
type IndexedResource struct {
	// Module is the address of the module; empty for the root module.
	Module string `json:"module,omitempty"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	// Provider is the source of the provider. Example: registry.opentofu.org/hashicorp/aws.
	Provider  string            `json:"provider,omitempty"`
	Instances []IndexedInstance `json:"instances"`
}

// IndexedInstance is an instance of a resource.
type IndexedInstance struct {
	// Key as in the address; empty without count and for_each. Example: ["a"].
	Key string `json:"key,omitempty"`
	// Deposed is the key of an object that was replaced and still has to be destroyed.
	Deposed string `json:"deposed,omitempty"`
	// Tainted is true if the next plan replaces it.
	Tainted bool `json:"tainted,omitempty"`
}

// Address returns the address of an instance.
func (r IndexedResource) Address(i IndexedInstance) string {
	module := ""
	if r.Module != "" {
		module = r.Module + "."
	}
	return module + r.Type + "." + r.Name + i.Key
}

const (
	// MaxIndex is the size of an index in bytes, more or less: of some ten thousand usual instances.
	MaxIndex = 1 << 20
	// MaxAddress is the length of an address that is indexed.
	MaxAddress = 1000
	// perInstance is what an instance counts beside its texts.
	perInstance = 16
)

// NewIndex reads the index of a state of format 4 that is not encrypted. Its memory does not grow with that of the
// attributes, nor beyond MaxIndex.
func NewIndex(state []byte) (Index, error) {
	index := Index{SHA256: Digest(state), Resources: []IndexedResource{}}
	if !json.Valid(state) {
		return Index{}, ErrNotState
	}
	left := MaxIndex
	err := jsonsize.ForEach(state, '{', func(quoted, resources []byte) error {
		if string(quoted) != `"resources"` {
			return nil
		}
		return jsonsize.ForEach(resources, '[', func(_, resource []byte) error { return index.add(resource, &left) })
	})
	if err != nil {
		return Index{}, fmt.Errorf("%w: %w", ErrNotState, err)
	}
	return index, nil
}

// add adds a resource, as far as there is memory left.
func (x *Index) add(resource []byte, left *int) error {
	var r IndexedResource
	var mode, provider string
	var instances []byte
	err := jsonsize.ForEach(resource, '{', func(quoted, value []byte) error {
		switch string(quoted) {
		case `"mode"`:
			return json.Unmarshal(value, &mode)
		case `"module"`:
			return json.Unmarshal(value, &r.Module)
		case `"type"`:
			return json.Unmarshal(value, &r.Type)
		case `"name"`:
			return json.Unmarshal(value, &r.Name)
		case `"provider"`:
			return json.Unmarshal(value, &provider)
		case `"instances"`:
			instances = value
		}
		return nil
	})
	if err != nil || mode != "managed" || instances == nil {
		return err
	}
	r.Provider = providerSource(provider)
	err = jsonsize.ForEach(instances, '[', func(_, text []byte) error {
		instance, err := parseInstance(text)
		size := len(r.Address(instance)) + len(r.Provider) + len(instance.Deposed) + perInstance
		if size > *left || size > MaxAddress {
			x.Omitted++
			return err
		}
		*left -= size
		r.Instances = append(r.Instances, instance)
		return err
	})
	if len(r.Instances) > 0 {
		x.Resources = append(x.Resources, r)
	}
	return err
}

func parseInstance(text []byte) (IndexedInstance, error) {
	var i IndexedInstance
	err := jsonsize.ForEach(text, '{', func(quoted, value []byte) error {
		switch string(quoted) {
		case `"index_key"`:
			if string(value) != "null" {
				i.Key = engine.IndexKey(value)
			}
		case `"deposed"`:
			return json.Unmarshal(value, &i.Deposed)
		case `"status"`:
			i.Tainted = string(value) == `"tainted"`
		}
		return nil
	})
	return i, err
}

// providerSource returns the source in the address of a provider, such as provider["registry.opentofu.org/x/y"].alias.
func providerSource(address string) string {
	_, rest, _ := strings.Cut(address, `["`)
	source, _, _ := strings.Cut(rest, `"]`)
	return source
}
