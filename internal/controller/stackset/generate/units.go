package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	// unitFile is in the directory of each Terragrunt unit, and of files for units to include.
	unitFile = "terragrunt.hcl"
	// stackFile describes units that `terragrunt stack generate` creates, in generated unless it has another path.
	stackFile = "terragrunt.stack.hcl"
	generated = ".terragrunt-stack"
)

// Units read the Terragrunt units of a commit.
type Units interface {
	// Unit reads the configuration of Terragrunt in a directory. Its error is none that a user corrects.
	Unit(ctx context.Context, directory string) (Unit, error)
}

// Unit is the configuration of Terragrunt in a directory.
type Unit struct {
	// Runs is false if Terragrunt skips the directory in run --all.
	Runs bool
	// Includes are the directories whose terragrunt.hcl it includes, DependsOn those of the units that it depends on.
	Includes, DependsOn []string
	// Problem is what a user corrects before anything is known of it; empty for none.
	Problem string
}

// ReadError is the error of a read of the repository. All other errors of Items are corrected by a user.
type ReadError struct {
	Directory string
	err       error
}

func (e *ReadError) Error() string { return "read unit " + e.Directory + ": " + e.err.Error() }
func (e *ReadError) Unwrap() error { return e.err }

// units are the items that Terragrunt runs, with what they depend on. It skips a directory as Terragrunt does, and one
// whose file another unit includes.
func units(ctx context.Context, items []Item, in Units, t tree) ([]Item, error) {
	included, committed := map[string]bool{}, generatedIn(t)
	var all []Item
	for _, item := range items {
		if !slices.Contains(t[item.Directory], unitFile) {
			if !committed[item.Directory] {
				return nil, fmt.Errorf("terragrunt: Cairn does not run the %s in %s: run `terragrunt stack generate` "+
					"there and commit the units that it creates, or exclude the directory", stackFile, item.Directory)
			}
			continue
		}
		u, err := in.Unit(ctx, item.Directory)
		if err != nil {
			return nil, &ReadError{item.Directory, err}
		}
		if u.Problem != "" {
			return nil, fmt.Errorf("terragrunt: unit %s: %s", item.Directory, u.Problem)
		}
		for _, dir := range u.Includes {
			included[dir] = true
		}
		if !u.Runs {
			continue
		}
		item.DependsOn = slices.Clone(u.DependsOn)
		all = append(all, item)
	}
	return slices.DeleteFunc(all, func(i Item) bool { return included[i.Directory] }), nil
}

// generatedIn are the directories in which units that Terragrunt generated are committed.
func generatedIn(t tree) map[string]bool {
	found := map[string]bool{}
	for dir, names := range t {
		if !slices.Contains(names, unitFile) {
			continue
		}
		parts := strings.Split(dir, "/")
		for i, part := range parts {
			if part == generated {
				found[strings.Join(parts[:i], "/")] = true
			}
		}
	}
	return found
}

// order separates the dependencies that are no items. Units that depend on each other are an error.
func order(items []Item) error {
	after := map[string][]string{}
	for _, i := range items {
		after[i.Directory] = append(after[i.Directory], i.DependsOn...)
	}
	for n := range items {
		i := &items[n]
		all := i.DependsOn
		i.DependsOn = nil
		for _, dir := range all {
			if _, is := after[dir]; is {
				i.DependsOn = append(i.DependsOn, dir)
			} else {
				i.Elsewhere = append(i.Elsewhere, dir)
			}
		}
	}
	// entered directories are on the way, until they are done.
	entered, done := map[string]bool{}, map[string]bool{}
	var visit func(dir string, way []string) error
	visit = func(dir string, way []string) error {
		switch {
		case done[dir]:
			return nil
		case entered[dir]:
			return fmt.Errorf(
				"generators: the Terragrunt units %s depend on each other: remove one of the dependencies",
				strings.Join(append(way[slices.Index(way, dir):], dir), " -> "))
		}
		entered[dir] = true
		for _, next := range after[dir] {
			if err := visit(next, append(way, dir)); err != nil {
				return err
			}
		}
		done[dir] = true
		return nil
	}
	for _, i := range items {
		if err := visit(i.Directory, nil); err != nil {
			return err
		}
	}
	return nil
}
