package planfile

import (
	"encoding/json"
	"maps"
)

// planned compares the values after the apply.
func (d *document) planned(raw json.RawMessage) error {
	var shown object
	if raw != nil && decodeJSON(raw, &shown) != nil {
		return mismatch("planned_values: it cannot be read")
	}
	left := map[string]change{}
	for _, c := range d.file.changes {
		if c.deposed == "" && c.action != remove {
			left[c.address] = c
		}
	}
	root, err := plannedModule(shown.object("root_module"), "", left)
	if err != nil {
		return err
	}
	for address, c := range left {
		// Terraform leaves out what it forgets, OpenTofu does not
		if c.action != forget && placeOf(address).mode != ephemeral {
			return mismatch("planned_values: %.200s of the plan file is missing", address)
		}
	}
	outputs, err := d.file.plannedOutputs(shown.object("outputs"))
	if err != nil {
		return err
	}
	values := object{"root_module": root}
	if len(outputs) > 0 {
		values["outputs"] = outputs
	}
	return d.write(values)
}

func (f *File) plannedOutputs(shown object) (object, error) {
	outputs, all := maps.Clone(f.outputs), object{}
	maps.DeleteFunc(outputs, func(_ string, c change) bool { return c.action == remove })
	for name := range shown {
		c, ok := outputs[name]
		o := shown.object(name)
		value := o["value"]
		if !ok || (value != nil || isKnown(c.after)) && sameKnown(c.after, value) != nil {
			return nil, mismatch("planned_values: output %.200s is another one in the plan file", name)
		}
		delete(outputs, name)
		all[name] = o.only("sensitive", "type", "value")
	}
	for name := range outputs {
		return nil, mismatch("planned_values: output %.200s of the plan file is missing", name)
	}
	return all, nil
}

// plannedModule compares the resources of a module and of those in it, and takes them from those that are left.
func plannedModule(shown object, address string, left map[string]change) (object, error) {
	module := shown.only("address")
	if shown.text("address") != address {
		return nil, mismatch("planned_values: there is no module %.200s in %.200s", shown.text("address"), address)
	}
	for _, element := range shown.list("resources") {
		o, err := plannedResource(element, address, left)
		if err != nil {
			return nil, err
		}
		module.append("resources", o)
	}
	for _, element := range shown.list("child_modules") {
		child, err := plannedModule(element, element.text("address"), left)
		if err != nil {
			return nil, err
		}
		module.append("child_modules", child)
	}
	return module, nil
}

func plannedResource(o object, module string, left map[string]change) (object, error) {
	address := o.text("address")
	c, ok := left[address]
	if where := placeOf(address); !ok || where.module != module || o.text("mode") != string(where.mode) ||
		o.text("type") != where.kind || o.text("name") != where.name || !hasKey(address, o["index"]) ||
		o.text("provider_name") != providerOf(c.provider) {
		return nil, mismatch("planned_values: the plan file has no such resource %.200s", address)
	}
	values := o["values"]
	if values == nil && sameKnown(c.after, nil) != nil {
		values = map[string]any{} // engines leave out an object of which nothing is known
	}
	if err := sameKnown(c.after, values); err != nil {
		return nil, mismatch("planned_values: %.200s: %v", address, err)
	}
	delete(left, address)
	return o.only("address", "mode", "type", "name", "index", "provider_name", "schema_version", "values",
		"sensitive_values", "depends_on",
		"tainted", "identity", "identity_schema_version"), nil
}

// list is a member that is a list of objects; empty where there is none.
func (o object) list(name string) []object {
	list, _ := o[name].([]any)
	all := make([]object, 0, len(list))
	for _, element := range list {
		value, _ := element.(map[string]any)
		all = append(all, value)
	}
	return all
}

func (o object) append(name string, element object) {
	list, _ := o[name].([]object)
	o[name] = append(list, element)
}
