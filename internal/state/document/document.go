// Package document reads the state files of engines: lineage, serial, number of resources and outputs.
package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"cairn.dev/cairn/internal/base/jsonsize"
	"cairn.dev/cairn/internal/engine"
)

// MaxSize of a state in bytes.
const MaxSize = 256 << 20

// Unknown is the count of resources in a state that the engine has encrypted: it is never taken for none.
const Unknown = -1

// Document is what Cairn reads of an engine's state file. The rest is preserved, and not decoded.
type Document struct {
	// Serial grows with every write of the engine.
	Serial int64
	// Lineage is created with the first one and never changes.
	Lineage string
	// Resources is how many managed resource instances there are, or Unknown.
	Resources int32
	// Outputs of the root module.
	Outputs map[string]Output
	// Outdated is the format of a state that is older than those that are read here; 0 for others.
	Outdated int
}

// Output is one output of the root module.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

// ErrNotState means that the bytes are not a state file.
var ErrNotState = errors.New("not a state file")

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

// managed counts the instances of managed resources, without a copy of their text: of a list of empty ones the list
// would take many times as much memory.
type managed int

// UnmarshalJSON counts those in a list.
func (m *managed) UnmarshalJSON(list []byte) error {
	*m = 0
	return jsonsize.ForEach(list, '[', func(_, resource []byte) error {
		var r struct {
			Mode      string    `json:"mode"`
			Instances instances `json:"instances"`
		}
		err := json.Unmarshal(resource, &r)
		if r.Mode == "managed" {
			*m += managed(r.Instances)
		}
		return err
	})
}

// instances counts those of a resource.
type instances int

// UnmarshalJSON counts the objects in a list.
func (n *instances) UnmarshalJSON(list []byte) error {
	*n = 0
	return jsonsize.ForEach(list, '[', func(_, instance []byte) error {
		if instance[0] != '{' {
			return errors.New("an instance is not an object")
		}
		*n++
		return nil
	})
}

// mostOutputs is how many outputs are read. Others can use fewer, the first by name.
const mostOutputs = 100_000

// outputs are those of the root module.
type outputs map[string]Output

// UnmarshalJSON reads them from an object.
func (o *outputs) UnmarshalJSON(object []byte) error {
	*o = outputs{}
	return jsonsize.ForEach(object, '{', func(quoted, value []byte) error {
		var name string
		var output Output
		err := errors.Join(json.Unmarshal(quoted, &name), json.Unmarshal(value, &output))
		if len(*o) < mostOutputs {
			(*o)[name] = output
		}
		return err
	})
}

// Parse reads a state file. It accepts any that has a lineage and a serial: a state of an unknown format is stored
// like any other, only its resources are not counted.
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
		if 0 < f.Version && f.Version < 4 {
			d.Outdated = f.Version
		}
		return d, nil
	}
	d.Outputs = f.Outputs
	d.Resources = int32(min(int(f.Resources), math.MaxInt32))
	return d, nil
}

// WithSerial returns the same state with another serial. No other byte changes.
func WithSerial(data []byte, serial int64) ([]byte, error) {
	if !json.Valid(data) {
		return nil, ErrNotState
	}
	var out bytes.Buffer
	copied := 0
	err := jsonsize.ForEach(data, '{', func(quoted, value []byte) error {
		var name string
		if err := json.Unmarshal(quoted, &name); err != nil || name != "serial" {
			return err
		}
		begin := cap(data) - cap(value) // both end where the memory of data does
		out.Write(data[copied:begin])
		out.WriteString(strconv.FormatInt(serial, 10))
		copied = begin + len(value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotState, err)
	}
	out.Write(data[copied:])
	d, err := Parse(out.Bytes())
	if err != nil {
		return nil, err
	}
	if d.Serial != serial {
		return nil, fmt.Errorf("%w: it has two serials", ErrNotState)
	}
	return out.Bytes(), nil
}

// SameContent reports whether two states are equal but for their lineage, serial and engine version.
func SameContent(a, b []byte) (bool, error) {
	if engine.HasTooMany(a) || engine.HasTooMany(b) {
		return bytes.Equal(a, b), nil
	}
	var contents [2]map[string]any
	for i, data := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&contents[i]); err != nil {
			return false, fmt.Errorf("%w: %w", ErrNotState, err)
		}
		for _, anew := range []string{"lineage", "serial", "terraform_version"} {
			delete(contents[i], anew)
		}
		if contents[i]["check_results"] == nil { // left out and null are one
			delete(contents[i], "check_results")
		}
	}
	return reflect.DeepEqual(contents[0], contents[1]), nil
}

// Digest of the bytes, as status.sha256 of a State has it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
