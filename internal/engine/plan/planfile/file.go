// Package planfile reads the plan file that an engine saves, without the engine, and checks what is reported of it.
// The file decides what an apply does; all else about a plan comes from a pod in which the code of users runs.
//
// OpenTofu and Terraform share the format: a zip archive whose entry "tfplan" is a message of Protocol Buffers, version
// 3, with values in MessagePack (internal/plans/planproto/planfile.proto in both).
package planfile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Largest is how many bytes a plan file may have, and its plan when it is unpacked, so that it is read.
const Largest = 32 << 20

// largestPlan is how many bytes the plan in a plan file may have, when it is unpacked, so that its changes are read.
const largestPlan = 1 << 30

// mostChanges is how many changes, outputs and variables a plan file may have so that it is read: one may have a few
// bytes in the file, and takes hundreds in memory.
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
	invocations   []invocation
	// deferred are what the engine left to a later plan: changes of resources, and invocations of actions.
	deferred            []change
	deferredInvocations []invocation
	// targets and excluded are the addresses to which the plan is limited, and which it leaves out.
	targets, excluded []string
	// applyable and complete are what Terraform states of the plan; OpenTofu has neither.
	applyable, complete bool
	// refreshOnly: the apply writes the drift to the state, and changes no resource.
	refreshOnly bool
	// goneLeftovers are the objects of replacements that the apply of such a plan removes from the state, and that no
	// drift lists.
	goneLeftovers []leftover
	// errored: the engine ended before the plan was complete.
	errored bool
}

// change is of a resource or an output. Values are in MessagePack; empty where there is none.
type change struct {
	address, previous, deposed, provider string
	action                               action
	before, after                        []byte
	beforeIdentity, afterIdentity        []byte
	importing                            bool
	importID                             string
	importIdentity                       []byte
	// read: the message has values.
	read bool
	// unknown: a part of the value after the change of an output is known only after the apply. sensitive: the code
	// marks the output.
	unknown, sensitive bool
}

// invocation of an action of a provider.
type invocation struct {
	address, provider string
	config            []byte
	// resource triggers it, or caller does.
	resource, caller string
	event            uint64
	block, index     uint64
	onFailure        uint64
	triggered        bool
}

// Read reads a plan file. The result shares no memory with data.
func Read(data []byte) (*File, error) { return decode(data, true, Largest) }

// ReadChanges reads a plan file without its values, so that it needs the memory of one change at a time: what is read
// has no Document.
func ReadChanges(data []byte) (*File, error) { return decode(data, false, largestPlan) }

func decode(data []byte, values bool, most int64) (*File, error) {
	unreadable := func(reason string) (*File, error) { return nil, fmt.Errorf("%w: %s", ErrUnreadable, reason) }
	if len(data) > Largest {
		return unreadable(fmt.Sprintf("it has more than %d MiB", Largest>>20))
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return unreadable("it is no zip archive, such as a plan that the code encrypts")
	}
	plans := slices.DeleteFunc(slices.Clone(archive.File), func(f *zip.File) bool { return f.Name != "tfplan" })
	if len(plans) != 1 {
		return unreadable(fmt.Sprintf("it has %d plans", len(plans)))
	}
	body, err := plans[0].Open()
	if err != nil {
		return unreadable(err.Error())
	}
	defer body.Close()
	d := newDecoder(values)
	if err := d.read(body, most); err != nil {
		return unreadable(err.Error())
	}
	f, err := d.end()
	if err == nil && f.refreshOnly {
		f.goneLeftovers, err = goneLeftovers(archive)
	}
	if err != nil {
		return unreadable(err.Error())
	}
	return f, nil
}

// read reads the fields of a plan of at most so many bytes.
func (d *decoder) read(plan io.Reader, most int64) error {
	in := bufio.NewReader(plan)
	var one []byte
	for left := most; ; {
		size, err := fieldSize(in)
		switch {
		case size == 0 && errors.Is(err, io.EOF):
			return nil
		case size == 0:
			return err
		}
		if left -= size; size > Largest || left < 0 {
			return fmt.Errorf("its plan has more than %d MiB", min(most, Largest)>>20)
		}
		if d.values { // which are parts of it
			one = nil
		}
		one = slices.Grow(one[:0], int(size))[:size]
		if _, err := io.ReadFull(in, one); err != nil {
			return err
		}
		if err := eachField(one, d.field); err != nil {
			return err
		}
	}
}

// fieldSize is how many bytes the next field has, with its number; of what is no field, all that can be read at once.
func fieldSize(in *bufio.Reader) (int64, error) {
	const longest = 2 * binary.MaxVarintLen64 // of the number and a size
	head, err := in.Peek(longest)
	if len(head) == 0 {
		return 0, err
	}
	_, wire, n := protowire.ConsumeTag(head)
	if n < 0 {
		return int64(len(head)), nil
	}
	length, m := protowire.ConsumeVarint(head[n:])
	switch {
	case m < 0 || wire != protowire.VarintType && wire != protowire.BytesType:
		return int64(len(head)), nil
	case wire == protowire.VarintType:
		return int64(n + m), nil
	case length > math.MaxInt32:
		return math.MaxInt32, nil
	}
	return int64(n+m) + int64(length), nil
}
