package planfile

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// decoder reads a plan that fits the schema of an engine, field by field.
type decoder struct {
	*File
	// values: they are kept.
	values bool
	// fits has for each of schemas how far the plan fits, and misfits why it does not.
	fits    [2]reading
	misfits [2]error
	version uint64
	parts   int
	// changed and drifted are the keys of the changes that have been read.
	changed, drifted map[string]bool
}

func newDecoder(values bool) *decoder {
	d := &decoder{
		File: &File{outputs: map[string]change{}, variables: map[string][]byte{}}, values: values,
		changed: map[string]bool{}, drifted: map[string]bool{},
	}
	for i, s := range schemas {
		d.fits[i] = reading{message: s.plan}
	}
	return d
}

// field reads a field of the plan.
func (d *decoder) field(n protowire.Number, wire protowire.Type, number uint64, data []byte) (err error) {
	for i := range schemas {
		if d.misfits[i] == nil {
			d.misfits[i] = d.fits[i].check(n, wire, number, data)
		}
	}
	if err := d.misfit(); err != nil {
		return err
	}
	if d.parts++; d.parts > mostChanges {
		return fmt.Errorf("it has more than %d changes", mostChanges)
	}
	switch n {
	case 1:
		d.version = number
	case 2:
		err = d.variable(data)
	case 3:
		d.changes, err = d.change(d.changes, d.changed, data)
	case 17: // how it was planned: 1 is a destroy
		d.refreshOnly = number == 2
	case 18:
		d.drift, err = d.change(d.drift, d.drifted, data)
	case 4:
		err = d.output(data)
	case 5:
		d.targets = append(d.targets, string(data))
	case 6:
		d.excluded = append(d.excluded, string(data))
	case 14:
		d.EngineVersion = string(data)
	case 20:
		d.errored = number == 1
	case 25:
		d.applyable = number == 1
	case 26:
		d.complete = number == 1
	case 27:
		d.deferred, err = appended(d.deferred, second(data), d.resource)
	case 30:
		d.invocations, err = appended(d.invocations, data, d.invoked)
	case 31:
		d.deferredInvocations, err = appended(d.deferredInvocations, second(data), d.invoked)
	}
	return err
}

// misfit is why the plan fits no schema.
func (d *decoder) misfit() error {
	switch {
	case d.misfits[0] == nil || d.misfits[1] == nil:
		return nil
	case d.misfits[0].Error() == d.misfits[1].Error():
		return d.misfits[0]
	}
	return fmt.Errorf("as a plan of %s: %w; as one of %s: %w", schemas[0].engine, d.misfits[0], schemas[1].engine,
		d.misfits[1])
}

// end checks what is known once all is read.
func (d *decoder) end() (*File, error) {
	if d.version != formatVersion {
		return nil, fmt.Errorf("its format is version %d, and version %d is known", d.version, formatVersion)
	}
	return d.File, d.checkInvocations()
}

// appended is a list with one more element, as read reads it.
func appended[T any](list []T, data []byte, read func([]byte) (T, error)) ([]T, error) {
	one, err := read(data)
	return append(list, one), err
}

// second is what a message has in field 2.
func second(raw []byte) (part []byte) {
	_ = eachField(raw, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error { // which was checked
		if n == 2 {
			part = data
		}
		return nil
	})
	return part
}

// checkInvocations rejects a plan that invokes an action twice in one place.
func (f *File) checkInvocations() error {
	invoked := make(map[string]bool, len(f.invocations))
	for _, i := range f.invocations {
		if invoked[i.key()] {
			return fmt.Errorf("it invokes %.200s twice", i.address)
		}
		invoked[i.key()] = true
	}
	return nil
}

func (d *decoder) variable(raw []byte) error {
	var name string
	var value []byte
	err := eachField(raw, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) (err error) {
		if n == 1 {
			name = string(data)
		} else {
			value, err = dynamicValue(data)
		}
		return err
	})
	if _, twice := d.variables[name]; twice && err == nil {
		err = fmt.Errorf("it has the variable %.100s twice", name)
	}
	if !d.values {
		value = nil
	}
	d.variables[name] = value
	return err
}

func (d *decoder) output(raw []byte) error {
	var c change
	err := eachField(raw, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			c.address = string(data)
		case 2:
			return c.values(data)
		case 3:
			c.sensitive = number == 1
		}
		return nil
	})
	c.unknown = len(c.after) > 0 && !isKnown(c.after)
	if _, twice := d.outputs[c.address]; err == nil && (twice || !c.read) {
		err = fmt.Errorf("it does not change the output %.100s once", c.address)
	}
	d.outputs[c.address] = d.kept(c)
	return err
}

func (d *decoder) resource(raw []byte) (c change, err error) {
	err = eachField(raw, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
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
	if err == nil && !c.read {
		err = fmt.Errorf("it has no values for %.200s", c.address)
	}
	return d.kept(c), err
}

// change reads a change and adds it to a list, unless values are not kept and it has no effect. One that is there twice
// is an error.
func (d *decoder) change(list []change, read map[string]bool, raw []byte) ([]change, error) {
	c, err := d.resource(raw)
	switch {
	case err != nil:
		return list, err
	case read[c.key()]:
		return list, fmt.Errorf("it changes %.200s twice", c.address)
	}
	read[c.key()] = true
	if !d.values && c.action == noOp && !c.importing && c.previous == "" {
		return list, nil
	}
	return append(list, c), nil
}

// kept is what is kept of a change.
func (d *decoder) kept(c change) change {
	if !d.values {
		c.before, c.after, c.beforeIdentity, c.afterIdentity, c.importIdentity = nil, nil, nil, nil, nil
	}
	return c
}

// values reads the message Change.
func (c *change) values(raw []byte) error {
	c.read = true
	var values [][]byte
	err := eachField(raw, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) (err error) {
		switch n {
		case 1:
			c.action = action(number)
		case 2:
			values, err = appended(values, data, dynamicValue)
		case 5:
			c.importing = true
			err = c.imported(data)
		case 7:
			c.beforeIdentity, err = dynamicValue(data)
		case 8:
			c.afterIdentity, err = dynamicValue(data)
		}
		return err
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

// imported reads the message Importing.
func (c *change) imported(raw []byte) error {
	return eachField(raw, func(n protowire.Number, wire protowire.Type, _ uint64, data []byte) (err error) {
		switch {
		case n == 1:
			c.importID = string(data)
		case wire == protowire.BytesType: // field 2 of OpenTofu, 3 of Terraform
			c.importIdentity, err = dynamicValue(data)
		}
		return err
	})
}

// invoked reads the message ActionInvocationInstance.
func (d *decoder) invoked(raw []byte) (i invocation, err error) {
	err = eachField(raw, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) (err error) {
		switch n {
		case 1:
			i.address = string(data)
		case 2:
			i.provider = string(data)
		case 4:
			i.config, err = dynamicValue(data)
		case 6:
			i.triggered = true
			err = i.trigger(data)
		case 7:
			err = eachField(data, func(_ protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
				i.caller = string(data)
				return nil
			})
		}
		return err
	})
	if !d.values {
		i.config = nil
	}
	return i, err
}

// trigger reads the message ResourceActionTrigger.
func (i *invocation) trigger(raw []byte) error {
	return eachField(raw, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			i.resource = string(data)
		case 2:
			i.event = number
		case 3:
			i.block = number
		case 4:
			i.index = number
		case 5:
			i.onFailure = number
		}
		return nil
	})
}

// dynamicValue reads the message DynamicValue.
func dynamicValue(raw []byte) (value []byte, err error) {
	err = eachField(raw, func(_ protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		value = data
		return checkDepth(data)
	})
	return value, err
}
