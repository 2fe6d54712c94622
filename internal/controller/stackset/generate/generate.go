// Package generate lists what a StackSet makes a Stack for: directories of a repository, entries of lists, and each
// with each. It is pure: the names of the files of one commit in, items out, and the same items for the same names.
package generate

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Generator lists items. Exactly one field is set.
type Generator struct {
	Directories *Directories
	// List has the params of each item.
	List []map[string]any
	// Matrix combines each item of a generator with each of the next ones.
	Matrix []Generator
}

// Directories are those that match a pattern of Include and none of Exclude, and have a file that matches Marker.
type Directories struct {
	Include, Exclude []string
	// Marker is a glob for the name of a file; empty means a file of OpenTofu, Terraform or Terragrunt.
	Marker string
	// SettingsFile is the name of a file with settings of the Stack of its directory; empty for none.
	SettingsFile string
	// Units selects the Terragrunt units among them, in place of Marker.
	Units bool
}

// Item is what one Stack is made from.
type Item struct {
	// Directory in the repository; empty for an item that is of none.
	Directory string
	// SettingsFile is the path of the settings file of the directory; empty for none.
	SettingsFile string
	Params       map[string]any
	// DependsOn are the directories of the Terragrunt units that it depends on and that are items too, Elsewhere those
	// of others.
	DependsOn, Elsewhere []string
}

// code has the names of files that a root module has.
var code = []string{"*.tf", "*.tofu", "*.tf.json", "*.tofu.json", unitFile}

// Items are those of all generators, in the order of the generators and of the directories' names. files are the paths
// of all files of a commit. More than most items are an error: none of them counts.
func Items(ctx context.Context, generators []Generator, files []string, in Units, most int) ([]Item, error) {
	tree := newTree(files)
	var all []Item
	for i, g := range generators {
		items, err := g.items(tree, most)
		if err == nil && g.Directories != nil && g.Directories.Units {
			items, err = units(ctx, items, in, tree)
		}
		if err != nil {
			return nil, fmt.Errorf("generators[%d]: %w", i, err)
		}
		if all = append(all, items...); len(all) > most {
			return nil, tooMany(most)
		}
	}
	if err := order(all); err != nil {
		return nil, err
	}
	return all, nil
}

func tooMany(most int) error {
	return fmt.Errorf("there are more than spec.maxStacks (%d) items: raise it, or exclude directories", most)
}

func (g Generator) items(t tree, most int) ([]Item, error) {
	set := 0
	for _, is := range []bool{g.Directories != nil, g.List != nil, g.Matrix != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, fmt.Errorf("set one of directories, list, matrix and terragrunt")
	case g.Directories != nil:
		return g.Directories.items(t, most)
	case g.Matrix != nil:
		return product(g.Matrix, t, most)
	}
	var items []Item
	for _, params := range g.List {
		items = append(items, Item{Params: maps.Clone(params)})
	}
	return items, nil
}

// product combines each item with each. A param that two of them have is an error: one would hide the other.
func product(generators []Generator, t tree, most int) ([]Item, error) {
	all := []Item{{Params: map[string]any{}}}
	for i, g := range generators {
		items, err := g.items(t, most)
		if err != nil {
			return nil, fmt.Errorf("matrix[%d]: %w", i, err)
		}
		if len(all)*len(items) > most {
			return nil, tooMany(most)
		}
		next := make([]Item, 0, len(all)*len(items))
		for _, a := range all {
			for _, b := range items {
				both, err := combine(a, b)
				if err != nil {
					return nil, fmt.Errorf("matrix[%d]: %w", i, err)
				}
				next = append(next, both)
			}
		}
		all = next
	}
	return all, nil
}

func combine(a, b Item) (Item, error) {
	if a.Directory != "" && b.Directory != "" {
		return Item{}, fmt.Errorf("only one generator of a matrix can have directories")
	}
	params := maps.Clone(a.Params)
	for name, value := range b.Params {
		if _, taken := params[name]; taken {
			return Item{}, fmt.Errorf("params.%s is of two generators", name)
		}
		params[name] = value
	}
	return Item{Directory: a.Directory + b.Directory, SettingsFile: a.SettingsFile + b.SettingsFile, Params: params},
		nil
}

// tree has the names of the files of each directory.
type tree map[string][]string

func newTree(files []string) tree {
	t := tree{}
	for _, file := range files {
		if !fs.ValidPath(file) { // Git has no names such as .. in a tree
			continue
		}
		dir, name := path.Split(file)
		dir = strings.TrimSuffix(dir, "/")
		t[dir] = append(t[dir], name)
	}
	return t
}

func (d Directories) items(t tree, most int) ([]Item, error) {
	field := "directories"
	if d.Units {
		field = "terragrunt"
	}
	if len(d.Include) == 0 {
		return nil, fmt.Errorf("%s.include is empty", field)
	}
	patterns := make([]pattern, len(d.Include))
	for i, text := range d.Include {
		var err error
		if patterns[i], err = parsePattern(text); err != nil {
			return nil, fmt.Errorf("%s.include[%d] %w", field, i, err)
		}
	}
	for i, text := range d.Exclude {
		if err := checkGlob(text); err != nil {
			return nil, fmt.Errorf("%s.exclude[%d] %w", field, i, err)
		}
	}
	markers := code
	if d.Marker != "" {
		if err := checkGlob(d.Marker); err != nil {
			return nil, fmt.Errorf("directories.marker %w", err)
		}
		markers = []string{d.Marker}
	}
	if d.Units {
		markers = []string{unitFile, stackFile}
	}
	var items []Item
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		if dir == "" || matchesAny(d.Exclude, dir) || !slices.ContainsFunc(t[dir], func(name string) bool {
			return matchesAny(markers, name)
		}) {
			continue
		}
		for _, p := range patterns { // the first that matches names its parts
			if params := p.capture(dir); params != nil {
				item := Item{Directory: dir, Params: params}
				if slices.Contains(t[dir], d.SettingsFile) {
					item.SettingsFile = dir + "/" + d.SettingsFile
				}
				items = append(items, item)
				break
			}
		}
		if len(items) > most && !d.Units { // some of these are no units
			return nil, tooMany(most)
		}
	}
	return items, nil
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return doublestar.MatchUnvalidated(glob, name) })
}

// Written are the params that the author of the StackSet wrote: those of lists that no pattern captures. The others are
// names of directories, which users who push to the repository choose.
func Written(generators []Generator) []string {
	written, captured := map[string]bool{}, map[string]bool{}
	for _, g := range generators {
		for _, g := range append(slices.Clone(g.Matrix), g) {
			for _, params := range g.List {
				for name := range params {
					written[name] = true
				}
			}
			if g.Directories == nil {
				continue
			}
			for _, text := range g.Directories.Include {
				if p, err := parsePattern(text); err == nil { // Items reports the error
					for _, name := range p.names {
						captured[name] = true
					}
				}
			}
		}
	}
	maps.DeleteFunc(written, func(name string, _ bool) bool { return captured[name] })
	return slices.Sorted(maps.Keys(written))
}
