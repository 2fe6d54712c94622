package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/source/git"
)

const (
	// terragruntFile is in the directory of each Terragrunt unit.
	terragruntFile = "terragrunt.hcl"
	// terragruntStackFile describes units that `terragrunt stack generate` creates.
	terragruntStackFile = "terragrunt.stack.hcl"
)

// Dependency is a Terragrunt unit that a Stack's own unit depends on.
type Dependency struct {
	// Path of the unit's directory from the repository's root; "" is the root.
	Path string
	// Outputs is true when the unit's outputs may be read. A dependencies block and skip_outputs only set an order.
	Outputs bool
}

// dependenciesOf returns each unit once, by path, without the unit itself: configuration that a unit reads may name it.
func dependenciesOf(unit string, uses []Dependency) []Dependency {
	outputs := map[string]bool{}
	for _, use := range uses {
		if use.Path != unit {
			outputs[use.Path] = outputs[use.Path] || use.Outputs
		}
	}
	var all []Dependency
	for _, dir := range sortedKeys(outputs) {
		all = append(all, Dependency{Path: dir, Outputs: outputs[dir]})
	}
	return all
}

// noCode is the error of a directory without code that the engine can run.
func (s *search) noCode(root git.Entry, format string, args ...any) error {
	if _, ok := s.tree.Entry(path.Join(root.Path, terragruntStackFile)); !ok {
		return fail(ErrNoCode, format, args...)
	}
	return fail(ErrTerragruntStack, "Cairn does not run the %s in %s: run `terragrunt stack generate` there, "+
		"commit the units that it creates, and create a Stack for each of them", terragruntStackFile, shown(root.Path))
}

// unit is a directory with a terragrunt.hcl. All paths in its configuration start there, also those in the files that
// it includes.
type unit struct {
	dir string
	// root is true for the Stack's own unit.
	root bool
}

// terragrunt adds the Stack's unit and all that it depends on.
func (s *search) terragrunt(ctx context.Context, root git.Entry) error {
	if _, ok := s.tree.Entry(path.Join(root.Path, terragruntFile)); !ok {
		return s.noCode(root, "there is no %s in %s: correct the path, or commit the file", terragruntFile,
			shown(root.Path))
	}
	s.units = map[string]bool{root.Path: true}
	for queue := []unit{{root.Path, true}}; len(queue) > 0; queue = queue[1:] {
		more, err := s.unit(ctx, queue[0])
		if err != nil {
			return err
		}
		for _, dir := range more {
			if s.units[dir] {
				continue
			}
			if s.units[dir] = true; len(s.units) > s.c.options.Modules {
				return fail(ErrTooLarge, "the unit in %s depends on more than %d units, which is the limit: remove "+
					"dependencies that it does not need", shown(root.Path), s.c.options.Modules)
			}
			queue = append(queue, unit{dir: dir})
		}
	}
	return nil
}

// unit adds the files of a unit, and returns the units that it depends on.
func (s *search) unit(ctx context.Context, u unit) ([]string, error) {
	// Configuration is merged from files above, whose names functions often compute: the closure has all of them.
	for dir := u.dir; dir != ""; {
		dir = parentOf(dir)
		if err := s.addMatches(glob{base: dir, pattern: "[!.]*.hcl"}); err != nil {
			return nil, err
		}
	}
	p, err := s.resolve(ctx, path.Join(u.dir, terragruntFile))
	if err != nil {
		return nil, err
	}
	r := newReading(s, u)
	if err := r.file(ctx, p.Entry); err != nil {
		return nil, err
	}
	if u.root {
		s.dependencies = dependenciesOf(u.dir, r.uses)
	}
	for _, dir := range append(r.sources, u.dir) {
		if u.root {
			if err := s.require(ctx, dir); err != nil {
				return nil, err
			}
		}
		if err := s.calls(ctx, dir); err != nil {
			return nil, err
		}
	}
	return r.units, nil
}

// reading reads the configuration of one unit.
type reading struct {
	*search
	unit unit
	// original is the directory of the unit for which a file of another directory is read.
	original string
	// files that were read, by the directory of the unit and their path.
	files map[string]bool
	// includes are the directories of the files that the unit's own file includes, by label; "" is the first one.
	includes map[string]string
	// exposed are the locals of these files, by label.
	exposed map[string]cty.Value
	// sources are the directories of the module that it runs; units are those of the units that it depends on.
	sources, units []string
	// uses are the units that Terragrunt would apply before this one.
	uses []Dependency
	// isRead is true for configuration that is only read, with read_terragrunt_config: the unit does not run its
	// module.
	isRead bool
	// depth is how many files of configuration read each other up to this one.
	depth int
}

func newReading(s *search, u unit) *reading {
	return &reading{
		search: s, unit: u, original: u.dir, files: map[string]bool{}, includes: map[string]string{},
		exposed: map[string]cty.Value{},
	}
}

// file reads a file of the configuration, and those that it includes.
func (r *reading) file(ctx context.Context, e git.Entry) error {
	key := r.unit.dir + ":" + e.Path
	if !isFile(e.Kind) || r.files[key] {
		return nil
	}
	if r.files[key] = true; len(r.files) > r.c.options.Modules {
		return fail(ErrTooLarge, "the unit in %s includes more than %d files, which is the limit: merge some of them",
			shown(r.unit.dir), r.c.options.Modules)
	}
	c, err := r.config(ctx, e)
	if err != nil {
		return err
	}
	if r.order && !r.isRead && c.problem != "" {
		return fail(ErrModule, "%s: %s", e.Path, c.problem)
	}
	if r.unit.root {
		r.engine.Terragrunt.require(c.terragruntVersion...)
		r.engine.OpenTofu.require(c.engineVersion...)
		r.engine.Terraform.require(c.engineVersion...)
	}
	var locals cty.Value
	for _, ref := range c.refs {
		if !r.inOrder(ref) {
			continue
		}
		if ref.kind != refInclude && locals == cty.NilVal {
			if locals, err = r.localsOf(ctx, c); err != nil {
				return err
			}
		}
		if ref.disabled {
			continue // Terragrunt reads no disabled dependency, and its path may lead nowhere
		}
		at := fmt.Sprintf("%s:%d: %.200s", e.Path, ref.line, ref.what)
		if ref.kind == refInput || ref.kind == refLocal {
			if err := r.inputs(ctx, ref, locals, at); err != nil {
				return err
			}
			continue
		}
		names, known, err := r.evaluate(ctx, ref.expr, locals)
		if err != nil {
			return err
		}
		if r.isRead && ref.kind == refSource {
			continue // the module of a unit that does not run
		}
		if !known && (ref.kind != refSource || !isRemote(ref.expr)) {
			// a path that has a part of a refConfig is not known either
			if r.order && !r.isRead && ref.kind != refConfig {
				return fail(ErrModule, "%s: only Terragrunt can evaluate its path: write one that depends on the "+
					"repository alone, or exclude the unit", at)
			}
			r.open = append(r.open, at)
			continue
		}
		for _, name := range names {
			if err := r.ref(ctx, ref, name, e.Path, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// ref adds the target of one reference.
func (r *reading) ref(ctx context.Context, ref ref, name, file, at string) error {
	if ref.kind == refRead || ref.kind == refConfig {
		return r.readPath(ctx, ref, name, file)
	}
	base, inner := name, ""
	if ref.kind == refSource {
		if !isLocal(name) && name != "." && name != ".." && !strings.HasPrefix(name, "/") {
			return nil // a remote module
		}
		base, inner, _ = strings.Cut(name, "//")
	}
	p, err := r.goTo(ctx, base, file, at)
	if ref.optional && errors.Is(err, ErrModule) {
		return nil
	}
	if err != nil {
		return err
	}
	if ref.kind == refInclude {
		return r.include(ctx, ref, p.Entry, file)
	}
	dir := p.Entry
	if isFile(dir.Kind) {
		dir, _ = r.tree.Entry(parentOf(p.Path)) // the path of a dependency may be that of its file
	}
	r.add(dir)
	if r.order && dir.Kind == git.KindDir {
		if err := r.isUnit(ctx, dir, name, at); err != nil {
			if ref.optional && IsCorrectable(err) {
				return nil
			}
			return err
		}
	}
	switch {
	case dir.Kind != git.KindDir:
	case ref.kind == refUnit:
		r.units = append(r.units, dir.Path)
		r.uses = append(r.uses, Dependency{Path: dir.Path, Outputs: ref.outputs})
	default:
		if p, err = r.local(ctx, dir.Path, path.Join(".", inner), at); err != nil {
			return err
		}
		r.add(p.Entry)
		if p.Kind == git.KindDir {
			r.module(p.Path)
			r.sources = append(r.sources, p.Path)
		}
	}
	return nil
}

// include adds a file that another one includes, and those that it includes.
func (r *reading) include(ctx context.Context, ref ref, e git.Entry, from string) error {
	r.add(e)
	r.included[e.Path] = true
	if from != path.Join(r.unit.dir, terragruntFile) {
		return r.file(ctx, e)
	}
	own := strings.TrimPrefix(strings.TrimPrefix(ref.what, "include"), " ")
	for _, label := range []string{"", own} {
		if _, ok := r.includes[label]; !ok {
			r.includes[label] = parentOf(e.Path)
		}
	}
	if isFile(e.Kind) && own != "" {
		c, err := r.config(ctx, e)
		if err != nil {
			return err
		}
		locals, err := r.localsOf(ctx, c)
		if err != nil {
			return err
		}
		r.exposed[own] = cty.ObjectVal(map[string]cty.Value{"locals": locals})
	}
	return r.file(ctx, e)
}

// goTo resolves a path in the configuration: from the unit's directory, or else from the directory of the file.
func (r *reading) goTo(ctx context.Context, name, file, at string) (place, error) {
	var missing error
	for _, dir := range []string{r.unit.dir, parentOf(file)} {
		full := path.Join(dir, name)
		if inRepository, ok := strings.CutPrefix(name, repositoryRoot); ok {
			full = path.Clean(strings.TrimLeft(inRepository, "/"))
			if full == "." {
				full = ""
			}
		} else if strings.HasPrefix(name, "/") {
			full = ".."
		}
		if outside(full) {
			missing = fail(ErrModule, "%s is at %.200q, which is outside of the repository: correct the path", at, name)
			continue
		}
		p, err := r.resolve(ctx, full)
		switch {
		case err != nil:
			return place{}, err
		case p.Kind != 0:
			return p, nil
		}
		missing = fail(ErrModule, "%s is at %.200q, but the repository has no %.200q; the nearest directory "+
			"that exists is %s: correct the path, or commit the file", at, name, full, shown(p.nearest))
	}
	return place{}, missing
}
