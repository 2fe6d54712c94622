package planfile

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
)

// descriptorOf describes a schema to the library for Protocol Buffers, which the engines use too. Booleans and enums
// are numbers there, so that no value is lost.
func descriptorOf(t testing.TB, plan *message) protoreflect.MessageDescriptor {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String(plan.name + ".proto"), Package: proto.String("test"), Syntax: proto.String("proto3"),
	}
	name := func(m *message) string { return strings.ReplaceAll(m.name, ".", "") }
	known := map[*message]bool{}
	var add func(*message)
	add = func(m *message) {
		if known[m] {
			return
		}
		known[m] = true
		d := &descriptorpb.DescriptorProto{Name: proto.String(name(m))}
		for _, n := range slices.Sorted(maps.Keys(m.fields)) { // fields of a choice follow one another
			f := m.fields[n]
			field := &descriptorpb.FieldDescriptorProto{
				Name:   proto.String("f" + string(rune('a'+n/10)) + string(rune('a'+n%10))),
				Number: proto.Int32(int32(n)),
				Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}
			if f.list {
				field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if f.choice {
				field.OneofIndex = proto.Int32(0)
				d.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
			}
			switch f.kind {
			case text:
				field.Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
			case data:
				field.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			case part:
				field.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
				field.TypeName = proto.String(".test." + name(f.of))
				add(f.of)
			default:
				field.Type = descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum()
			}
			d.Field = append(d.Field, field)
		}
		file.MessageType = append(file.MessageType, d)
	}
	add(plan)
	described, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return described.Messages().ByName(protoreflect.Name(name(plan)))
}

// ordinary reports that the library has read no field that it does not know, and no number that a reader would cut.
func ordinary(m protoreflect.Message, of *message) bool {
	if len(m.GetUnknown()) > 0 {
		return false
	}
	is := true
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch f := of.fields[d.Number()]; {
		case f.kind == boolean:
			is = v.Uint() <= 1
		case f.kind == enum:
			is = v.Uint() <= math.MaxInt32
		case f.kind == part && f.list:
			for i := range v.List().Len() {
				is = is && ordinary(v.List().Get(i).Message(), f.of)
			}
		case f.kind == part:
			is = ordinary(v.Message(), f.of)
		}
		return is
	})
	return is
}

// compareWithLibrary checks that a plan is read if and only if the library reads it in one way, and that both read the
// same.
func compareWithLibrary(t *testing.T, raw []byte, plan *message, described protoreflect.MessageDescriptor) {
	t.Helper()
	read := dynamicpb.NewMessage(described)
	failed := proto.Unmarshal(raw, read)
	err := plan.check(raw)
	if err != nil {
		// What the library would write in as many bytes is what it was written from.
		if failed == nil && ordinary(read, plan) && proto.Size(read) == len(raw) {
			t.Errorf("the library reads %x, which is rejected: %v", raw, err)
		}
		return
	}
	if failed != nil || !ordinary(read, plan) {
		t.Fatalf("the library does not read %x: %v", raw, failed)
	}
	written, err := proto.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	ours, errOurs := decodePlan(raw, true)
	theirs, errTheirs := decodePlan(written, true)
	if (errOurs == nil) != (errTheirs == nil) {
		t.Fatalf("%x: %v, and as the library reads it: %v", raw, errOurs, errTheirs)
	}
	if diff := cmp.Diff(theirs, ours, cmp.AllowUnexported(File{}, change{}, invocation{})); diff != "" {
		t.Errorf("%x is another plan for the library: %s", raw, diff)
	}
	if f, err := decodePlan(raw, false); (err == nil) != (errOurs == nil) {
		t.Errorf("%x: %v, and without values: %v", raw, errOurs, err)
	} else if err == nil && (!slices.Equal(f.Changes(), ours.Changes()) || !slices.Equal(f.Outputs(), ours.Outputs()) ||
		f.Partial() != ours.Partial()) {
		t.Errorf("%x has other changes without values: %v", raw, f.Changes())
	}
}

// The values are in memory that the next field overwrites.
func TestChangesAloneHaveNoValues(t *testing.T) {
	values := map[string]any{"a": 1}
	f, err := decodePlan(planfiletest.Plan{{Address: "a.b", Action: planfiletest.Update, Before: values,
		After: values}}.Message(t), false)
	if err != nil || len(f.changes) != 1 {
		t.Fatal(f, err)
	}
	if c := f.changes[0]; c.before != nil || c.after != nil {
		t.Errorf("%q, %q", c.before, c.after)
	}
}

func decodePlan(raw []byte, values bool) (*File, error) {
	d := newDecoder(values)
	if err := d.read(bytes.NewReader(raw), Largest); err != nil {
		return nil, err
	}
	return d.end()
}

// forms are a message with each of its fields as it should be, there twice, of another type, and beside one that is not
// known.
func forms(m *message) [][]byte {
	all := [][]byte{nil, protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)}
	for n, f := range m.fields {
		var values [][]byte
		switch f.kind {
		case number, boolean, enum:
			for _, value := range []uint64{0, 1, 2, 5, math.MaxInt32 + 1} {
				values = append(values, protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType),
					value))
			}
		case text, data:
			for _, value := range []string{"", "a.b", "\xff"} {
				values = append(values, protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), value))
			}
		case part:
			for _, value := range forms(f.of) {
				values = append(values, protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value))
			}
		}
		all = append(all, values...)
		all = append(all, slices.Concat(values[0], values[len(values)-1]))
		for _, wire := range []protowire.Type{protowire.VarintType, protowire.BytesType} { // nothing, and 0
			all = append(all, append(protowire.AppendTag(nil, n, wire), 0))
		}
		all = append(all, append(protowire.AppendTag(nil, n, protowire.Fixed32Type), 0, 0, 0, 0))
	}
	// longer than needed
	return append(all, []byte{0x08, 0x81, 0x00}, []byte{0x88, 0x00, 0x01}, []byte{0x0a, 0x80, 0x00})
}

// FuzzSchema compares how plan files are read with the library for Protocol Buffers, which the engines use.
func FuzzSchema(f *testing.F) {
	described := map[*message]protoreflect.MessageDescriptor{}
	for _, s := range schemas {
		described[s.plan] = descriptorOf(f, s.plan)
		for _, form := range forms(s.plan) {
			f.Add(form)
		}
	}
	f.Add(planfiletest.Plan{
		{Address: "a.b", Action: planfiletest.Update, Before: map[string]any{"a": 1}, After: map[string]any{"a": "b"},
			ImportID: "c"},
	}.Message(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, s := range schemas {
			compareWithLibrary(t, raw, s.plan, described[s.plan])
		}
	})
}
