package planfile

import (
	"cmp"
	"slices"

	"cairn.dev/cairn/internal/engine"
)

// OutputChange is the change of an output of the root module.
type OutputChange struct {
	Name   string
	Action engine.Action
	// Known reports that all of the new value is known before the apply. It is false for an output that is deleted.
	Known bool
	// Sensitive reports that the code marks the output as sensitive.
	Sensitive bool
}

// Outputs returns the changes of outputs, by name.
func (f *File) Outputs() []OutputChange {
	var all []OutputChange
	for name, c := range f.outputs {
		one := OutputChange{Name: name, Known: !c.unknown, Sensitive: c.sensitive}
		switch is := actions[c.action].actions; {
		case is.NoOp():
			continue
		case is.Create():
			one.Action = engine.Create
		case is.Delete():
			one.Action, one.Known = engine.Delete, false
		default:
			one.Action = engine.Update
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b OutputChange) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
