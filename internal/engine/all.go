package engine

import (
	"slices"
	"strings"
)

// all are the engines: a new one is a file of this package and a row here. The first one is the default of Stacks, and
// of a wrapper.
var all = []Engine{OpenTofu, Terraform, Terragrunt}

// All returns the engines.
func All() []Engine { return slices.Clone(all) }

// Find returns the engine of a name, as spec.engine.name has it; empty names the default.
func Find(name string) (Engine, bool) {
	at := slices.IndexFunc(all, func(e Engine) bool { return name == "" || e.Name() == name })
	if at < 0 {
		return Engine{}, false
	}
	return all[at], true
}

// Wrapped returns the engine of a name, if a wrapper can run it.
func Wrapped(name string) (Engine, bool) {
	e, ok := Find(name)
	if !ok || name == "" || e.Wraps() {
		return Engine{}, false
	}
	return e, true
}

// Runs reports whether the engine of a name can run another one.
func Runs(name, other string) bool {
	e, ok := Find(name)
	_, wrapped := Wrapped(other)
	return ok && e.Wraps() && wrapped
}

// WrappedNames are the names of the engines that a wrapper can run, the preferred one first.
func WrappedNames() []string {
	var names []string
	for _, e := range all {
		if !e.Wraps() {
			names = append(names, e.Name())
		}
	}
	return names
}

// Programs are the names of all engines' programs.
func Programs() []string {
	var names []string
	for _, e := range all {
		names = append(names, e.Program())
	}
	return names
}

// IsProgram reports whether a program is an engine: it may hold a state while it runs.
func IsProgram(name string) bool { return slices.Contains(Programs(), name) }

// listed joins names for a message: "A", "A or B", "A, B or C".
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// RejectWrapped is the error for an engine that a wrapper does not run.
func RejectWrapped(wrapper Engine, name string) error {
	return reject("%s runs no engine %q: spec.engine.wrapped names %s", wrapper.Name(), name, listed(WrappedNames()))
}
