package fingerprint

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Part is one of the effects of a plan.
type Part struct {
	// Name is the address of a resource or an action, or what else the part is: "output vpc" for example.
	Name string
	// Text is the same for two parts exactly if they do the same. It has the values of secrets.
	Text []byte
}

// Parts returns the effects by name. Two plans with the same Text have the same parts, and no others have.
func (e *Effects) Parts() ([]Part, error) {
	what := e.all
	var all []Part
	add := func(name string, text []byte) { all = append(all, Part{name, text}) }
	for kind, list := range map[string]list{
		"": what.Resources, "action ": what.Actions, "output ": what.Outputs, "deferred ": what.Deferred,
	} {
		for _, element := range list {
			add(kind+nameOf(element), element)
		}
	}
	for _, element := range what.Provisioners {
		var of []any
		_ = json.Unmarshal(element, &of) // which was written here
		address, _ := of[0].(string)
		add("provisioners of "+address, element)
	}
	for name, provider := range what.Providers {
		text, err := json.Marshal(provider)
		if err != nil {
			return nil, err
		}
		add("provider "+name, text)
	}
	for name, values := range map[string]json.RawMessage{
		"variables": what.Variables, "values that the plan read": what.Read,
	} {
		if values != nil {
			add(name, values)
		}
	}
	if what.Partial {
		add("parts that the plan leaves out", nil)
	}
	slices.SortFunc(all, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Text, b.Text))
	})
	return all, nil
}

// nameOf returns the address of a change, or the name of an output.
func nameOf(element json.RawMessage) string {
	type change struct{ Address, Name, Deposed string }
	var of struct {
		change
		Resource change `json:"resource_change"`
	}
	_ = json.Unmarshal(element, &of) // which was written here
	if of.Resource.Address != "" {
		of.change = of.Resource
	}
	name := cmp.Or(of.Address, of.Name)
	if of.Deposed != "" {
		name += " (deposed " + of.Deposed + ")"
	}
	return name
}

// Differences returns the names, sorted, of the parts that two plans do not have in common. Each is a map from names to
// hashes of texts.
func Differences(a, b map[string]string) (names []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}
