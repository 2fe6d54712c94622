// Package planfile reads the plan file that an engine saves, without the engine, and checks what is reported of it.
// The file decides what an apply does; all else about a plan comes from a pod in which the code of users runs.
//
// OpenTofu and Terraform share the format: a zip archive whose entry "tfplan" is a message of Protocol Buffers, version
// 3, with values in MessagePack (internal/plans/planproto/planfile.proto in both).
package planfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Largest is how many bytes a plan file may have, and its plan when it is unpacked, so that it is read.
const Largest = 32 << 20

// mostChanges is how many changes, outputs and variables a plan file may have so that it is read: one may have a few bytes
// in the file, and takes hundreds in memory.
const mostChanges = 100_000

// formatVersion is the only version of the plan that is read.
const formatVersion = 3

// ErrUnreadable means that a plan file cannot be read here: the code encrypts it, it is too large, or it has another
// format.
var ErrUnreadable = errors.New("the plan file cannot be read without the engine")

// File is what a plan would do.
type File struct {
	// EngineVersion created it.
	EngineVersion string
	changes       []change
	drift         []change
	outputs       map[string]change
	variables     map[string][]byte
}

// change is of a resource or an output. Values are in MessagePack; empty where there is none.
type change struct {
	address, previous, deposed, provider string
	action                               action
	before, after                        []byte
	importing                            bool
	importID                             string
	read                                 bool
}

// Read reads a plan file. The result shares no memory with data.
func Read(data []byte) (*File, error) {
	unreadable := func(reason string) (*File, error) { return nil, fmt.Errorf("%w: %s", ErrUnreadable, reason) }
	if len(data) > Largest {
		return unreadable(fmt.Sprintf("it has more than %d MiB", Largest>>20))
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return unreadable("it is no zip archive, such as a plan that the code encrypts")
	}
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == "tfplan" })
	if i < 0 {
		return unreadable("it has no plan")
	}
	body, err := archive.File[i].Open()
	if err != nil {
		return unreadable(err.Error())
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, Largest+1))
	switch {
	case err != nil:
		return unreadable(err.Error())
	case len(raw) > Largest:
		return unreadable(fmt.Sprintf("its plan has more than %d MiB", Largest>>20))
	}
	f, err := decode(raw)
	if err != nil {
		return unreadable(err.Error())
	}
	return f, nil
}

func decode(raw []byte) (*File, error) {
	f := &File{outputs: map[string]change{}, variables: map[string][]byte{}}
	var version uint64
	parts := 0
	err := fields(raw, func(n protowire.Number, number uint64, data []byte) error {
		if parts++; parts > mostChanges {
			return fmt.Errorf("it has more than %d changes", mostChanges)
		}
		switch n {
		case 1:
			version = number
		case 2:
			name, value, err := variable(data)
			if err == nil {
				f.variables[name] = value
			}
			return err
		case 3, 18:
			c, err := resource(data)
			if n == 3 {
				f.changes = append(f.changes, c)
			} else {
				f.drift = append(f.drift, c)
			}
			return err
		case 4:
			c, err := output(data)
			f.outputs[c.address] = c
			return err
		case 14:
			f.EngineVersion = string(data)
		}
		return nil
	})
	if err == nil && version != formatVersion {
		err = fmt.Errorf("its format is version %d, and version %d is known", version, formatVersion)
	}
	return f, err
}

func variable(raw []byte) (name string, value []byte, err error) {
	err = fields(raw, func(n protowire.Number, _ uint64, data []byte) (err error) {
		switch n {
		case 1:
			name = string(data)
		case 2:
			value, err = dynamicValue(data)
		}
		return err
	})
	return name, value, err
}

func resource(raw []byte) (c change, err error) {
	err = fields(raw, func(n protowire.Number, _ uint64, data []byte) error {
		switch n {
		case 13:
			c.address = string(data)
		case 14:
			c.previous = string(data)
		case 7:
			c.deposed = string(data)
		case 8:
			c.provider = string(data)
		case 9:
			return c.values(data)
		}
		return nil
	})
	return c, err
}

func output(raw []byte) (c change, err error) {
	err = fields(raw, func(n protowire.Number, _ uint64, data []byte) error {
		switch n {
		case 1:
			c.address = string(data)
		case 2:
			return c.values(data)
		}
		return nil
	})
	return c, err
}

// values reads the message Change.
func (c *change) values(raw []byte) error {
	if c.read { // Protocol Buffers would merge the two
		return errors.New("a change has its values twice")
	}
	c.read = true
	var values [][]byte
	err := fields(raw, func(n protowire.Number, number uint64, data []byte) error {
		switch n {
		case 1:
			c.action = action(number)
		case 2:
			value, err := dynamicValue(data)
			values = append(values, value)
			return err
		case 5:
			c.importing = true
			return fields(data, func(n protowire.Number, _ uint64, data []byte) error {
				if n == 1 {
					c.importID = string(data)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	kind, known := actions[c.action]
	if !known || len(values) != kind.values {
		return fmt.Errorf("action %d with %d values is not known", c.action, len(values))
	}
	switch {
	case kind.values == 2:
		c.before, c.after = values[0], values[1]
	case c.action == noOp:
		c.before, c.after = values[0], values[0]
	case c.action == create:
		c.after = values[0]
	default:
		c.before = values[0]
	}
	return nil
}

func dynamicValue(raw []byte) (value []byte, err error) {
	err = fields(raw, func(n protowire.Number, _ uint64, data []byte) error {
		if n == 1 {
			value = data
			return checkDepth(data)
		}
		return nil
	})
	return value, err
}

// fields calls do for each field of a message, with its number or with its bytes. Of a field that is there twice the
// last one counts, as for the engines.
func fields(raw []byte, do func(n protowire.Number, number uint64, data []byte) error) error {
	for len(raw) > 0 {
		n, kind, size := protowire.ConsumeTag(raw)
		if size < 0 {
			return protowire.ParseError(size)
		}
		raw = raw[size:]
		var number uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(raw)
		case protowire.BytesType:
			data, size = protowire.ConsumeBytes(raw)
		default:
			size = protowire.ConsumeFieldValue(n, kind, raw)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		raw = raw[size:]
		if err := do(n, number, data); err != nil {
			return err
		}
	}
	return nil
}
