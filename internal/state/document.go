package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Unknown is the count of resources in a state that the engine has encrypted: it is never taken for none.
const Unknown = -1

// Document is what Cairn reads of an engine's state file. The rest is carried, never looked at.
type Document struct {
	// Serial grows with every write of the engine.
	Serial int64
	// Lineage is made with the first one and never changes.
	Lineage string
	// Resources is how many managed resource instances there are, or Unknown.
	Resources int32
	// Outputs of the root module.
	Outputs map[string]Output
}

// Output is one output of the root module.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

// ErrNotState says that bytes are not a state file.
var ErrNotState = errors.New("not a state file")

// stateFile is the part of the engine's format, version 4, that matters here. An encrypted state has lineage and
// serial in clear and encryption_version in place of the rest.
type stateFile struct {
	Version    int               `json:"version"`
	Encryption string            `json:"encryption_version"`
	Serial     *uint64           `json:"serial"`
	Lineage    string            `json:"lineage"`
	Outputs    map[string]Output `json:"outputs"`
	Resources  []struct {
		Mode      string     `json:"mode"`
		Instances []struct{} `json:"instances"`
	} `json:"resources"`
}

// Parse reads a state file. It takes any that says which lineage and serial it has: a state of a format that is not
// known yet is kept like any other, only its resources are not counted.
func Parse(data []byte) (Document, error) {
	var f stateFile
	if err := json.Unmarshal(data, &f); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrNotState, err)
	}
	switch {
	case f.Lineage == "":
		return Document{}, fmt.Errorf("%w: no lineage", ErrNotState)
	case len(f.Lineage) > 253:
		return Document{}, fmt.Errorf("%w: a lineage of %d bytes", ErrNotState, len(f.Lineage))
	case f.Serial == nil:
		return Document{}, fmt.Errorf("%w: no serial", ErrNotState)
	case *f.Serial > math.MaxInt64:
		return Document{}, fmt.Errorf("%w: serial %d", ErrNotState, *f.Serial)
	}
	d := Document{Serial: int64(*f.Serial), Lineage: f.Lineage, Resources: Unknown}
	if f.Version != 4 || f.Encryption != "" {
		return d, nil
	}
	d.Outputs = f.Outputs
	count := 0
	for _, r := range f.Resources {
		if r.Mode == "managed" {
			count += len(r.Instances)
		}
	}
	d.Resources = int32(min(count, math.MaxInt32))
	return d, nil
}
