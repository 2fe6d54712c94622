package planfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// What a plan file may contain. Two programs that read one document differ where it is not as expected: in unknown
// fields, in fields of another type, in fields that are there twice. What Cairn shows would then be another plan than
// the one that the engine applies. So a plan is read only if each of its bytes belongs to a field that is known here,
// in the form in which engines write it.
//
// The numbers are those of internal/plans/planproto/planfile.proto of Terraform 1.16 and
// internal/plans/internal/planproto/planfile.proto of OpenTofu 1.12.

// kind is the type of a field.
type kind uint8

const (
	number  kind = iota // of 64 bits
	boolean             // 0 or 1
	enum                // a number of 31 bits: readers drop the others
	text                // in UTF-8
	data                // any bytes
	part                // a message
)

// field of a message.
type field struct {
	kind kind
	// of is the message of a part.
	of *message
	// list: the field may be there more than once.
	list bool
	// choice: at most one of the fields with this mark is in a message.
	choice bool
}

// message of Protocol Buffers.
type message struct {
	name   string
	fields map[protowire.Number]field
}

func one(of *message) field  { return field{kind: part, of: of} }
func many(of *message) field { return field{kind: part, of: of, list: true} }

var (
	texts = field{kind: text, list: true}

	valueSchema = &message{"DynamicValue", map[protowire.Number]field{1: {kind: data}}}
	stepSchema  = &message{"Path.Step", map[protowire.Number]field{
		1: {kind: text, choice: true}, 2: {kind: part, of: valueSchema, choice: true},
	}}
	pathSchema      = &message{"Path", map[protowire.Number]field{1: many(stepSchema)}}
	attributeSchema = &message{"Plan.resource_attr", map[protowire.Number]field{1: {kind: text}, 2: one(pathSchema)}}
	variableSchema  = &message{"Plan.VariablesEntry", map[protowire.Number]field{1: {kind: text}, 2: one(valueSchema)}}
	backendSchema   = &message{"Backend", map[protowire.Number]field{
		1: {kind: text}, 2: one(valueSchema), 3: {kind: text},
	}}
	providerSchema = &message{"Provider", map[protowire.Number]field{
		1: {kind: text}, 2: {kind: text}, 3: one(valueSchema),
	}}
	storeSchema = &message{"StateStore", map[protowire.Number]field{
		1: {kind: text}, 2: one(valueSchema), 3: {kind: text}, 4: one(providerSchema),
	}}
	checkedSchema = &message{"CheckResults.ObjectResult", map[protowire.Number]field{
		1: {kind: text}, 2: {kind: enum}, 3: texts,
	}}
	checksSchema = &message{"CheckResults", map[protowire.Number]field{
		1: {kind: enum}, 2: {kind: text}, 3: {kind: enum}, 4: many(checkedSchema),
	}}
	functionSchema = &message{"FunctionCallHash", map[protowire.Number]field{1: {kind: data}, 2: {kind: data}}}
	deferralSchema = &message{"Deferred", map[protowire.Number]field{1: {kind: enum}}}
	triggerSchema  = &message{"ResourceActionTrigger", map[protowire.Number]field{
		1: {kind: text}, 2: {kind: enum}, 3: {kind: number}, 4: {kind: number}, 5: {kind: enum},
	}}
	callSchema       = &message{"InvokeActionTrigger", map[protowire.Number]field{1: {kind: text}}}
	invocationSchema = &message{"ActionInvocationInstance", map[protowire.Number]field{
		1: {kind: text}, 2: {kind: text}, 4: one(valueSchema), 5: many(pathSchema),
		6: {kind: part, of: triggerSchema, choice: true}, 7: {kind: part, of: callSchema, choice: true},
	}}
	deferredInvocationSchema = &message{"DeferredActionInvocation", map[protowire.Number]field{
		1: one(deferralSchema), 2: one(invocationSchema),
	}}
)

// schemas of a plan: that of the engine which saved it fits. They differ in what Importing has, and in what the engines
// have added since they parted, so that no plan with another meaning fits both.
var schemas = []struct {
	engine string
	plan   *message
}{{"Terraform", planSchema(true)}, {"OpenTofu", planSchema(false)}}

// planSchema is what a plan may contain, of Terraform or of OpenTofu.
func planSchema(terraform bool) *message {
	importing := &message{"Importing", map[protowire.Number]field{1: {kind: text}, 2: one(valueSchema)}}
	if terraform {
		importing.fields[2], importing.fields[3] = field{kind: boolean}, one(valueSchema)
	}
	change := &message{"Change", map[protowire.Number]field{
		1: {kind: enum}, 2: many(valueSchema), 3: many(pathSchema), 4: many(pathSchema), 5: one(importing),
		6: {kind: text},
		7: one(valueSchema), 8: one(valueSchema),
	}}
	resource := &message{"ResourceInstanceChange", map[protowire.Number]field{
		7: {kind: text}, 8: {kind: text}, 9: one(change), 10: {kind: data}, 11: many(pathSchema), 12: {kind: enum},
		13: {kind: text}, 14: {kind: text},
	}}
	output := &message{"OutputChange", map[protowire.Number]field{1: {kind: text}, 2: one(change), 3: {kind: boolean}}}
	plan := &message{"Plan", map[protowire.Number]field{
		1: {kind: number}, 2: many(variableSchema), 3: many(resource), 4: many(output), 5: texts,
		13: one(backendSchema),
		14: {kind: text}, 15: many(attributeSchema), 16: texts, 17: {kind: enum}, 18: many(resource),
		19: many(checksSchema),
		20: {kind: boolean}, 21: {kind: text},
	}}
	own := map[protowire.Number]field{6: texts, 22: texts}
	if terraform {
		deferred := &message{"DeferredResourceInstanceChange", map[protowire.Number]field{1: one(deferralSchema),
			2: one(resource)}}
		own = map[protowire.Number]field{
			22: many(functionSchema), 25: {kind: boolean}, 26: {kind: boolean}, 27: many(deferred), 28: texts,
			29: one(storeSchema),
			30: many(invocationSchema), 31: many(deferredInvocationSchema), 32: texts,
		}
	}
	maps.Copy(plan.fields, own)
	return plan
}

// check rejects a message that has anything else than its schema.
func (m *message) check(raw []byte) error {
	return eachField(raw, (&reading{message: m}).check)
}

// reading is a message of which some fields have been read.
type reading struct {
	*message
	// once are the fields, of those that may be there once, that have been read: all numbers of those are below 64.
	once   uint64
	chosen bool
}

// check rejects a field that the message does not have, or not once more.
func (r *reading) check(n protowire.Number, wire protowire.Type, value uint64, bytes []byte) error {
	f, known := r.fields[n]
	if !known {
		return fmt.Errorf("field %d of %s is not known", n, r.name)
	}
	if (wire == protowire.VarintType) != (f.kind <= enum) {
		return fmt.Errorf("field %d of %s has another type", n, r.name)
	}
	if !f.list {
		if r.once&(1<<n) != 0 || f.choice && r.chosen {
			return fmt.Errorf("field %d of %s is there twice", n, r.name)
		}
		r.once |= 1 << n
		r.chosen = r.chosen || f.choice
	}
	switch {
	case f.kind == boolean && value > 1, f.kind == enum && value > math.MaxInt32:
		return fmt.Errorf("field %d of %s has a value that is not known", n, r.name)
	case f.kind == text && !utf8.Valid(bytes):
		return fmt.Errorf("field %d of %s is not in UTF-8", n, r.name)
	case f.kind == part:
		return f.of.check(bytes)
	}
	return nil
}

var errLonger = errors.New("a number is written longer than needed")

// eachField calls do for each field of a message, with its number or with its bytes. Other types of fields than these
// two are errors.
func eachField(raw []byte, do func(n protowire.Number, wire protowire.Type, value uint64, bytes []byte) error) error {
	for len(raw) > 0 {
		n, wire, size := protowire.ConsumeTag(raw)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if size != protowire.SizeTag(n) {
			return errLonger
		}
		raw = raw[size:]
		var value uint64
		var bytes []byte
		var shortest int
		switch wire {
		case protowire.VarintType:
			value, size = protowire.ConsumeVarint(raw)
			shortest = protowire.SizeVarint(value)
		case protowire.BytesType:
			bytes, size = protowire.ConsumeBytes(raw)
			shortest = protowire.SizeBytes(len(bytes))
		default:
			return fmt.Errorf("field %d has a type that no field has", n)
		}
		switch {
		case size < 0:
			return protowire.ParseError(size)
		case size != shortest:
			return errLonger
		}
		raw = raw[size:]
		if err := do(n, wire, value, bytes); err != nil {
			return err
		}
	}
	return nil
}
