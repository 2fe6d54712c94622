// Package document reads what Cairn needs of a state file. It imports nothing of Kubernetes or the bucket, so that the command line can use it.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// UnknownResources is the count of resources in a state that the engine has encrypted: it is never taken for none.
const UnknownResources = -1

// State is what Cairn reads of a state file of the engine. The rest is stored as it is.
type State struct {
	// Serial grows with every write of the engine.
	Serial int64
	// Lineage is made with the first one and never changes.
	Lineage string
	// Resources is how many managed resource instances there are, or UnknownResources.
	Resources int32
	// Outputs of the root module.
	Outputs map[string]Output
}

// Output is one output of the root module.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

// ErrInvalid says that bytes are not a state file.
var ErrInvalid = errors.New("not a state file")

// stateFile is the part of the engine's format, version 4, that matters here. An encrypted state has lineage and
// serial in clear and encryption_version in place of the rest.
type stateFile struct {
	Version    int     `json:"version"`
	Encryption string  `json:"encryption_version"`
	Serial     *uint64 `json:"serial"`
	Lineage    string  `json:"lineage"`
	Outputs    outputs `json:"outputs"`
	Resources  managed `json:"resources"`
}

// managed counts the instances of managed resources. One resource is read at a time: of a list of empty ones the list would take
// many times as much memory as its text.
type managed int

// UnmarshalJSON counts those in a list.
func (m *managed) UnmarshalJSON(list []byte) error {
	*m = 0
	return pieces(list, '[', func(_ string, decoder *json.Decoder) error {
		var r struct {
			Mode      string     `json:"mode"`
			Instances []struct{} `json:"instances"` // which take nothing
		}
		err := decoder.Decode(&r)
		if r.Mode == "managed" {
			*m += managed(len(r.Instances))
		}
		return err
	})
}

// mostOutputs is how many outputs are read. Others can use fewer, the first by name.
const mostOutputs = 100_000

// outputs are those of the root module.
type outputs map[string]Output

// UnmarshalJSON reads them from an object.
func (o *outputs) UnmarshalJSON(object []byte) error {
	*o = outputs{}
	return pieces(object, '{', func(name string, decoder *json.Decoder) error {
		var output Output
		err := decoder.Decode(&output)
		if len(*o) < mostOutputs {
			(*o)[name] = output
		}
		return err
	})
}

// pieces reads what is in a list or an object one by one. Null has nothing in it.
func pieces(data []byte, start json.Delim, read func(name string, decoder *json.Decoder) error) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	switch token, err := decoder.Token(); {
	case err != nil:
		return err
	case token == nil:
		return nil
	case token != start:
		return fmt.Errorf("%c was expected", rune(start))
	}
	for decoder.More() {
		name := ""
		if start == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string)
		}
		if err := read(name, decoder); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a state file. It takes any that says which lineage and serial it has: a state of a format that is not
// known yet is kept like any other, only its resources are not counted.
func Parse(data []byte) (State, error) {
	var f stateFile
	if err := json.Unmarshal(data, &f); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch {
	case f.Lineage == "":
		return State{}, fmt.Errorf("%w: no lineage", ErrInvalid)
	case len(f.Lineage) > 253:
		return State{}, fmt.Errorf("%w: a lineage of %d bytes", ErrInvalid, len(f.Lineage))
	case f.Serial == nil:
		return State{}, fmt.Errorf("%w: no serial", ErrInvalid)
	case *f.Serial > math.MaxInt64:
		return State{}, fmt.Errorf("%w: serial %d", ErrInvalid, *f.Serial)
	}
	d := State{Serial: int64(*f.Serial), Lineage: f.Lineage, Resources: UnknownResources}
	if f.Version != 4 || f.Encryption != "" {
		return d, nil
	}
	d.Outputs = f.Outputs
	d.Resources = int32(min(int(f.Resources), math.MaxInt32))
	return d, nil
}
