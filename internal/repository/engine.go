package repository

import (
	"cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// EngineOf is the engine of a Stack that reads from the Repository: what the Stack leaves out is the Repository's. A version is of one
// engine, so it is inherited only by Stacks of the same one.
func EngineOf(r *v1alpha1.Repository, stack *v1alpha1.Stack) v1alpha1.Engine {
	own, given := stack.Spec.Engine, r.Spec.Engine
	if given == nil {
		given = &v1alpha1.Engine{}
	}
	same := own.Name == "" || own.Name == cmp.Or(given.Name, v1alpha1.EngineOpenTofu)
	own.Name = cmp.Or(own.Name, given.Name, v1alpha1.EngineOpenTofu)
	if !same {
		return own
	}
	own.Version = cmp.Or(own.Version, given.Version)
	own.Wrapped = wrapped(own.Wrapped, given.Wrapped)
	return own
}

// wrapped is the same for the engine that Terragrunt runs.
func wrapped(own, given *v1alpha1.WrappedEngine) *v1alpha1.WrappedEngine {
	switch {
	case own == nil:
		return given
	case given == nil:
		return own
	}
	both := *own
	if both.Name == "" || given.Name == "" || both.Name == given.Name {
		both.Version = cmp.Or(both.Version, given.Version)
	}
	both.Name = cmp.Or(both.Name, given.Name)
	return &both
}
