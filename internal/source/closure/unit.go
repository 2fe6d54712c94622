package closure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"cairn.dev/cairn/internal/source/git"
)

// Unit is what the configuration in a directory has to do with others.
type Unit struct {
	// Runs is false if Terragrunt skips the directory in run --all: it has no code, and neither its terragrunt.hcl nor
	// a file that this one includes names a source. Such a file is for units to include.
	Runs bool
	// Includes are the directories whose terragrunt.hcl it includes, by path.
	Includes []string
	// Dependencies are the units that Terragrunt applies before it, by path.
	Dependencies []Dependency
}

// Unit reads the terragrunt.hcl in a directory. Other than the closure of a Stack, it has an error for what decides the
// order and is not known: a file that does not parse, a path that only Terragrunt can evaluate, and a dependency
// without a terragrunt.hcl. IsCorrectable reports the errors of the code.
func (c *Closures) Unit(ctx context.Context, tree Tree, blobs Blobs, dir string) (Unit, error) {
	key := "unit " + dir
	if a, ok := c.known.Get(key); ok && c.holds(a, tree) {
		return a.unit, nil
	}
	s := newSearch(c, tree, blobs)
	s.order, s.budget.left = true, c.options.Work
	u, err := s.unitOf(ctx, dir)
	if errors.Is(err, errWork) {
		return Unit{}, fail(ErrTooLarge, "its configuration names more paths than Cairn follows: remove some")
	}
	if err != nil {
		return Unit{}, err
	}
	a := &answer{unit: u, facts: slices.Collect(maps.Values(s.facts))}
	c.known.Add(key, a, len(key)+a.weight())
	return u, nil
}

// IsCorrectable reports whether an error is of the code, and not of reading it.
func IsCorrectable(err error) bool {
	_, ok := errors.AsType[*failure](err)
	return ok
}

func (s *search) unitOf(ctx context.Context, dir string) (Unit, error) {
	p, err := s.resolve(ctx, path.Join(dir, terragruntFile))
	if err != nil {
		return Unit{}, err
	}
	if !isFile(p.Kind) {
		return Unit{}, fail(ErrNoCode, "there is no %s in %s: commit it", terragruntFile, shown(dir))
	}
	r := newReading(s, unit{dir, true})
	if err := r.file(ctx, p.Entry); err != nil {
		return Unit{}, err
	}
	at, _ := s.tree.Entry(dir)
	s.facts[dir] = at // with its ID: its files are listed
	u := Unit{Runs: s.runs || hasCode(s.tree, dir), Dependencies: dependenciesOf(dir, r.uses)}
	for _, file := range sortedKeys(s.included) {
		if path.Base(file) == terragruntFile && parentOf(file) != dir {
			u.Includes = append(u.Includes, parentOf(file))
		}
	}
	return u, nil
}

// inOrder reports whether a reference of a file is followed: all are, unless only the order of units is read.
func (r *reading) inOrder(ref ref) bool {
	switch {
	case !r.order:
		return true
	case ref.kind == refSource:
		r.runs = r.runs || !r.isRead
		return false
	}
	return ref.kind == refInclude || ref.kind == refUnit || ref.kind == refConfig
}

// isUnit returns an error for a dependency that is no unit.
func (r *reading) isUnit(ctx context.Context, dir git.Entry, name, at string) error {
	p, err := r.resolve(ctx, path.Join(dir.Path, terragruntFile))
	if err == nil && !isFile(p.Kind) {
		err = fail(ErrModule, "%s is at %.200q, and there is no %s in %s: correct the path, or commit the file", at,
			name,
			terragruntFile, shown(dir.Path))
	}
	return err
}

// problemOf describes the first error of a file; empty for none.
func problemOf(err error) string {
	if diags, ok := errors.AsType[hcl.Diagnostics](err); ok && len(diags) > 0 && diags[0].Subject != nil {
		return fmt.Sprintf("line %d: %s", diags[0].Subject.Start.Line, diags[0].Summary)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
