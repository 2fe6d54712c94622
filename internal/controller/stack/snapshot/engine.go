package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/closure"
)

// chooseEngine returns the engine of a Run and, for one that runs another engine, the engines that it may run, the best
// first. Versions that the Stack does not set come from its code.
func chooseEngine(engine v1alpha1.Engine, code closure.Engine) (v1alpha1.Engine, []v1alpha1.WrappedEngine,
	*decision.Problem) {
	own := engine.Wrapped
	engine.Name, engine.Wrapped = cmp.Or(engine.Name, v1alpha1.EngineOpenTofu), nil
	if engine.Version == "" {
		var problem *decision.Problem
		if engine.Version, problem = versionIn(code, engine.Name); problem != nil {
			return engine, nil, problem
		}
	}
	if !wraps(engine.Name) {
		return engine, nil, nil
	}
	if own == nil {
		own = &v1alpha1.WrappedEngine{}
	}
	names := []v1alpha1.EngineName{own.Name}
	if own.Name == "" {
		names = wrappedNames()
	}
	var wrapped []v1alpha1.WrappedEngine
	for i, name := range names {
		version, problem := own.Version, (*decision.Problem)(nil)
		if version == "" {
			version, problem = versionIn(code, name)
		}
		switch {
		case problem == nil:
			wrapped = append(wrapped, v1alpha1.WrappedEngine{Name: name, Version: version})
		case i == 0:
			return engine, nil, problem
		}
	}
	hasVersion := func(w v1alpha1.WrappedEngine) bool { return w.Version != "" }
	if own.Name == "" && !slices.ContainsFunc(wrapped, hasVersion) {
		return engine, nil, nil // so that the inputs digest of Stacks without a version stays as it was
	}
	return engine, wrapped, nil
}

// wraps reports whether an engine runs another one.
func wraps(name v1alpha1.EngineName) bool {
	e, ok := engine.Find(string(name))
	return ok && e.Wraps()
}

// wrappedNames are the engines that one can run, the preferred one first.
func wrappedNames() []v1alpha1.EngineName {
	var names []v1alpha1.EngineName
	for _, name := range engine.WrappedNames() {
		names = append(names, v1alpha1.EngineName(name))
	}
	return names
}

// versionIn returns the constraint that the code has for an engine: its version file before what it requires.
func versionIn(code closure.Engine, name v1alpha1.EngineName) (string, *decision.Problem) {
	says := code.Of(string(name))
	if says.Problem != "" {
		return "", &decision.Problem{Reason: v1alpha1.ReasonEngineVersionInvalid,
			Message: fmt.Sprintf("%s: %s", says.File, says.Problem)}
	}
	return cmp.Or(says.Constraint, strings.Join(says.Required, ", ")), nil
}
