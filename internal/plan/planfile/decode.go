package planfile

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// decode reads a plan that fits the schema of an engine.
func decode(raw []byte) (*File, error) {
	misfits := make([]error, len(schemas))
	for i, s := range schemas {
		if misfits[i] = s.plan.check(raw); misfits[i] == nil {
			return decodePlan(raw)
		}
	}
	if misfits[0].Error() == misfits[1].Error() {
		return nil, misfits[0]
	}
	return nil, fmt.Errorf("as a plan of %s: %w; as one of %s: %w", schemas[0].engine, misfits[0], schemas[1].engine, misfits[1])
}

func decodePlan(raw []byte) (*File, error) {
	f := &File{outputs: map[string]change{}, variables: map[string][]byte{}}
	var version uint64
	parts := 0
	err := eachField(raw, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) (err error) {
		if parts++; parts > mostChanges {
			return fmt.Errorf("it has more than %d changes", mostChanges)
		}
		switch n {
		case 1:
			version = number
		case 2:
			err = f.variable(data)
		case 3:
			f.changes, err = appended(f.changes, data, resource)
		case 18:
			f.drift, err = appended(f.drift, data, resource)
		case 4:
			err = f.output(data)
		case 5:
			f.targets = append(f.targets, string(data))
		case 6:
			f.excluded = append(f.excluded, string(data))
		case 14:
			f.EngineVersion = string(data)
		case 20:
			f.errored = number == 1
		case 25:
			f.applyable = number == 1
		case 26:
			f.complete = number == 1
		case 27:
			f.deferred, err = appended(f.deferred, second(data), resource)
		case 30:
			f.invocations, err = appended(f.invocations, data, invoked)
		case 31:
			f.deferredInvocations, err = appended(f.deferredInvocations, second(data), invoked)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case version != formatVersion:
		return nil, fmt.Errorf("its format is version %d, and version %d is known", version, formatVersion)
	}
	return f, f.checkNames()
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

// checkNames rejects a plan in which something has a name twice.
func (f *File) checkNames() error {
	for _, list := range [][]change{f.changes, f.drift} {
		seen := make(map[string]bool, len(list))
		for _, c := range list {
			if seen[c.key()] {
				return fmt.Errorf("it changes %.200s twice", c.address)
			}
			seen[c.key()] = true
		}
	}
	invoked := make(map[string]bool, len(f.invocations))
	for _, i := range f.invocations {
		if invoked[i.key()] {
			return fmt.Errorf("it invokes %.200s twice", i.address)
		}
		invoked[i.key()] = true
	}
	return nil
}

func (f *File) variable(raw []byte) error {
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
	if _, twice := f.variables[name]; twice && err == nil {
		err = fmt.Errorf("it has the variable %.100s twice", name)
	}
	f.variables[name] = value
	return err
}

func (f *File) output(raw []byte) error {
	var c change
	err := eachField(raw, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 1:
			c.address = string(data)
		case 2:
			return c.values(data)
		}
		return nil
	})
	if _, twice := f.outputs[c.address]; err == nil && (twice || !c.read) {
		err = fmt.Errorf("it does not change the output %.100s once", c.address)
	}
	f.outputs[c.address] = c
	return err
}

func resource(raw []byte) (c change, err error) {
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
	return c, err
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
func invoked(raw []byte) (i invocation, err error) {
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
