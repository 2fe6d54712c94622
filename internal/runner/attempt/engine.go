package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/providermirror"
	"cairn.dev/cairn/internal/runnerapi"
)

// tool is the engine that an attempt runs.
type tool struct {
	engine.Engine
	// path of its program; empty when it is not known yet.
	path string
	// version is empty until the engine or the events of a plan reported it.
	version string
	// unsigned: it was downloaded, and has no signature.
	unsigned bool
	// under is the engine that it runs; nil for one that is no wrapper.
	under *tool
}

// holder is the engine that holds the state.
func (t *tool) holder() *tool {
	if t.under != nil {
		return t.under
	}
	return t
}

// programs are the paths of those programs that are known, by name.
func (t *tool) programs() map[string]string {
	known := map[string]string{}
	for ; t != nil; t = t.under {
		if t.path != "" {
			known[t.Program()] = t.path
		}
	}
	return known
}

// described is the name of an engine and its version, for the message of a step.
func (t *tool) described() string {
	text := strings.TrimRight(t.Name()+" "+t.version, " ")
	if t.unsigned {
		text += " (without a signature: accepted by a digest in the configuration of Cairn)"
	}
	return text
}

// atHand reports whether the image's program is used as it is. Mostly it is, and that needs no launch: the events of
// the plan have the version. Those of a wrapper have only the version of the engine that it runs.
func (w *workbench) atHand() bool {
	w.engine.path = w.lookup(w.engine.Program())
	hooks := len(w.withHooks("engine")) > 1 // they are around a step, so it is done
	return w.engine.path != "" && w.order.EngineVersion == "" && !w.engine.Wraps() && !hooks
}

// engineStep provides the engine.
type engineStep struct{ *workbench }

// provideEngine selects the engine that the order names and, with a wrapper, the one that it runs.
func (s *engineStep) provideEngine(ctx context.Context) (result, error) {
	if err := s.provide(ctx, &s.engine, s.order.EngineVersion); err != nil {
		return result{}, err
	}
	message := s.engine.described()
	if s.engine.Wraps() {
		under, err := s.provideWrapped(ctx)
		if err != nil {
			return result{}, err
		}
		s.engine.under = &under
		s.engine.Engine = s.engine.Around(under.Engine, under.path, s.work.WrapperCache())
		message += ", which runs " + under.described()
	}
	return result{message: message}, nil
}

// provide selects the image's program if it meets the constraint, and otherwise downloads one.
func (s *engineStep) provide(ctx context.Context, t *tool, constraint string) error {
	why := fmt.Sprintf("there is no program %s in this image", t.Program())
	if t.path != "" {
		meets, err := s.meets(ctx, t, constraint)
		if meets || err != nil {
			return err
		}
		why = fmt.Sprintf("this image has %s %s, and the Stack asks for %s", t.Name(), t.version, constraint)
	}
	return s.fetchEngine(ctx, t, constraint, why)
}

// meets asks an engine for its version, and reports whether it meets a constraint.
func (s *engineStep) meets(ctx context.Context, t *tool, constraint string) (bool, error) {
	answer, _, err := s.ask(ctx, call{Options: process.Options{Name: t.Name()}, path: t.path, args: t.Version()},
		largestAnswer)
	if err != nil {
		return false, err
	}
	if t.version, err = engine.ParseVersion(answer); err != nil || constraint == "" {
		return err == nil, err
	}
	meets, err := engine.Meets(t.version, constraint)
	if err != nil {
		return false, &engine.Rejection{Reason: err.Error()}
	}
	return meets, nil
}

// provideWrapped selects the engine that a wrapper is to run. Engines reject each other's plans, and those of other
// versions, so that an order to apply names the one that planned.
func (s *engineStep) provideWrapped(ctx context.Context) (tool, error) {
	under, constraint, err := s.wrapped()
	if err != nil {
		return tool{}, err
	}
	if under.path == "" || constraint != "" {
		err = s.provide(ctx, &under, constraint)
	}
	return under, err
}

// wrapped returns the engine that a wrapper is to run, and the constraint on its version: the first of the order's
// whose program is in the image, or else the first. A version that does not meet the constraint does not select
// another engine.
func (s *engineStep) wrapped() (tool, string, error) {
	asked := s.order.Wrapped
	if len(asked) == 0 {
		for _, name := range engine.WrappedNames() {
			asked = append(asked, runnerapi.WrappedEngine{Name: name})
		}
	}
	var first tool
	for i, one := range asked {
		under, ok := engine.Wrapped(one.Name)
		if !ok {
			return tool{}, "", engine.RejectWrapped(s.engine.Engine, one.Name)
		}
		found := tool{Engine: under, path: s.lookup(under.Program())}
		if found.path != "" {
			return found, one.Version, nil
		}
		if i == 0 {
			first = found
		}
	}
	return first, asked[0].Version, nil
}

// initStep prepares the code for the engine.
type initStep struct {
	*workbench
	withPlan bool
	// mirror serves providers to the engine; nil when it fetches them itself.
	mirror *providermirror.Mirror
}

// initialize prepares the code: modules, providers and the backend. With a saved plan it uses the same providers as the
// plan.
func (s *initStep) initialize(ctx context.Context) (result, error) {
	if err := s.configureGit(); err != nil {
		return result{}, err
	}
	locked := false
	if s.withPlan {
		var err error
		if locked, err = s.pinProviders(); err != nil {
			return result{}, err
		}
	}
	unmirror, err := s.mirrorProviders(ctx)
	if err != nil {
		return result{}, err
	}
	defer unmirror()
	arguments, err := s.backendFile(ctx)
	if err != nil {
		return result{}, err
	}
	args := s.engine.Args(engine.Init{
		Events: s.work.Events(), VariableFiles: s.files.paths(), Locked: locked, Backend: arguments,
	})
	code, _, err := s.run(ctx, engine.StepInit, call{args: args, mirror: s.mirror})
	var failed *programError
	if errors.As(err, &failed) {
		code, err = s.initAgain(ctx, args, code, err)
	}
	if s.engine.Wraps() && (err == nil || errors.As(err, &failed)) {
		if refused := s.checkAssembled(ctx); refused != nil {
			return result{exitCode: &code}, refused
		}
	}
	if err != nil {
		return result{exitCode: &code}, err
	}
	if err := s.setWorkspace(filepath.Join(s.module(), engine.DataDir, "modules"), s.work.WrapperCache()); err != nil {
		return result{exitCode: &code}, err
	}
	if !s.withPlan && !s.order.Destroy { // the plan, and the apply that is destroyed, had the same modules and files
		if err := s.checkModules(ctx); err != nil {
			return result{exitCode: &code}, err
		}
	}
	message := ""
	if names := s.withheld(); len(names) > 0 {
		message = "the engine does not get " + strings.Join(names, ", ")
		for _, name := range names {
			why := engine.Withheld(name, s.backend().Own())
			fmt.Fprintf(s.text, "the environment variable %s is not passed on: %s\n", name, why)
		}
	}
	return result{exitCode: &code, message: message}, s.checkBackend()
}

// checkOwnBackend rejects code that has a backend of its own while Cairn has no state of the Stack: the resources are
// in that backend, and a plan without it would create them again. A state that Cairn has was put there on purpose.
func (w *workbench) checkOwnBackend(ctx context.Context, root fs.FS) error {
	if w.backend().Own() {
		return nil
	}
	found, err := engine.FindBackend(root)
	if err != nil || found == nil {
		return err
	}
	state, err := w.proxy.Current(ctx)
	if err != nil || state != nil {
		return err
	}
	return found.Reject(w.engine.Engine, w.order.Stack)
}

// checkAssembled checks the backend in what a wrapper assembled. A remote_state, also one of an included
// file, is there as code, and so is the block of a module from elsewhere. It is checked after every init, since one
// that got the arguments of that backend fails.
func (s *initStep) checkAssembled(ctx context.Context) error {
	check := func(dir string) error {
		return s.checkOwnBackend(ctx, os.DirFS(dir)) // its files may be symlinks to elsewhere in the code
	}
	if err := check(s.module()); err != nil { // where it works when the unit names no source
		return err
	}
	return filepath.WalkDir(s.work.WrapperCache(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it created nothing
		case err != nil || entry.Name() != engine.OverrideFile: // those of other units are without the file
			return err
		}
		return check(filepath.Dir(path))
	})
}

// checkBackend checks the code that a wrapper downloaded, which could not be checked before, and where the engine
// keeps the state itself.
func (s *initStep) checkBackend() error {
	if !s.engine.Wraps() && !s.backend().Own() {
		return nil
	}
	root, err := os.OpenRoot(s.ranIn())
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	s.backendType, err = engine.CheckBackend(s.backend(), root.FS())
	return err
}

// ranIn returns the folder that the engine works in: the root module's or, with a wrapper, the one in its cache that
// it copied that to. It is the one that has Cairn's own file and was initialized: those of other units do not have
// both.
func (w *workbench) ranIn() string {
	found := w.module()
	if !w.engine.Wraps() {
		return found
	}
	_ = filepath.WalkDir(w.work.WrapperCache(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != engine.OverrideFile {
			return err
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, engine.DataDir)); err != nil {
			return nil // another folder
		}
		found = dir
		return fs.SkipAll
	})
	return found
}
