package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	items "cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// Limits of the API for patterns of a StackSet and for spec.maxStacks, and the default of that.
const (
	mostPatterns  = 100
	mostStacks    = 20_000
	defaultStacks = 1000
)

// environments are names of folders by which a part of a path is named env.
var environments = []string{
	"dev", "development", "test", "testing", "qa", "int", "integration", "stage", "staging", "preprod", "prod",
	"production", "live", "sandbox",
}

// replaced are the characters of paths that the names of Stacks have a hyphen for, and that an expression can replace.
const replaced = "/_. @+=,~"

// stackSet replaces Stacks that differ in name and path only by one StackSet that generates the same Stacks. All others
// stay, and are excluded.
func (g *generator) stackSet() error {
	shape := g.commonShape()
	covered, name := g.covered(shape)
	ref := manifest.Ref{Kind: "StackSet", Namespace: g.Namespace, Name: g.from.Name,
		APIVersion: v1alpha1.GroupVersion.String()}
	var note noteFunc = func(outcome manifest.Outcome, field, format string, args ...any) {
		g.r.Notes = append(g.r.Notes, manifest.Note{Object: ref, Field: field, Outcome: outcome,
			Text: fmt.Sprintf(format, args...)})
	}
	if len(covered) < 2 {
		note(manifest.NotNeeded, "", "no StackSet: no two root modules can share a template")
		return nil
	}
	directories := slices.Sorted(maps.Keys(covered))
	include := patternsOf(g.Folder, directories)
	generator, err := g.generatorOf(include, covered, shape, note)
	if err != nil {
		return err
	}
	set := v1alpha1.StackSet{}
	set.APIVersion, set.Kind = v1alpha1.GroupVersion.String(), "StackSet"
	set.Namespace, set.Name = g.Namespace, g.from.Name
	set.Spec.Repository = &v1alpha1.RepositoryRef{Name: g.from.Name}
	set.Spec.Generators = []v1alpha1.StackSetGenerator{generator}
	set.Spec.Template.Metadata.Name = name
	set.Spec.Template.Spec.Raw = []byte(shape)
	if n := 2 * len(covered); n > defaultStacks { // users add directories
		set.Spec.MaxStacks = new(int32(min(n, mostStacks)))
	}
	g.r.StackSets = []v1alpha1.StackSet{set}
	note(manifest.Became, "spec.generators", "%d Stacks, one for each directory that matches %s", len(covered),
		strings.Join(include, ", "))
	g.r.Stacks = slices.DeleteFunc(g.r.Stacks, func(s v1alpha1.Stack) bool {
		if covered[s.Spec.Source.Git.Path] {
			return true
		}
		note(manifest.Became, "", "Stack %s stays a Stack of its own: its settings, or its name, are not those of "+
			"the template", s.Name)
		return false
	})
	return nil
}

// noteFunc adds a note on a field of the StackSet.
type noteFunc func(outcome manifest.Outcome, field, format string, args ...any)

// generatorOf is the generator that lists the covered directories: the one for Terragrunt units, which sets their
// dependencies, or that of directories.
func (g *generator) generatorOf(
	include []string, covered map[string]bool, shape string, note noteFunc,
) (of v1alpha1.StackSetGenerator, err error) {
	var exclude []string
	if isOfTerragrunt(shape) && g.Units != nil {
		if exclude, err = g.excludesOf(include, covered, true); err == nil {
			of.Terragrunt = &v1alpha1.StackSetTerragrunt{Include: include, Exclude: exclude}
		} else {
			note(manifest.ToDo, "spec.generators", "directories in place of terragrunt, so that spec.dependsOn is "+
				"not set: %v", err)
		}
	}
	if of.Terragrunt == nil {
		if exclude, err = g.excludesOf(include, covered, false); err != nil {
			return of, err
		}
		of.Directories = &v1alpha1.StackSetDirectories{Include: include, Exclude: exclude}
	}
	if len(exclude) > 0 {
		note(manifest.Became, "exclude", "directories that are no root modules, or have a Stack of their own: %s",
			strings.Join(exclude, ", "))
	}
	return of, nil
}

// isOfTerragrunt returns whether a shape runs Terragrunt.
func isOfTerragrunt(shape string) bool {
	var spec v1alpha1.StackSpec
	return json.Unmarshal([]byte(shape), &spec) == nil && spec.Engine.Name == v1alpha1.EngineTerragrunt
}

// shapeOf is the spec of a Stack as the template has it: with ${directory} in place of its path.
func shapeOf(s v1alpha1.Stack) string {
	spec := s.Spec.DeepCopy()
	spec.Source.Git.Path = "${directory}"
	data, _ := json.Marshal(spec) // a spec of plain text and booleans
	fields := map[string]any{}
	_ = json.Unmarshal(data, &fields)
	for name, value := range fields { // what its type always writes
		if in, ok := value.(map[string]any); ok && (len(in) == 0 || name == "runner" || name == "retry") {
			delete(fields, name)
		}
	}
	data, _ = json.Marshal(fields)
	return string(data)
}

// commonShape is the shape that most Stacks have; of two, the first one.
func (g *generator) commonShape() (most string) {
	count := map[string]int{}
	for _, s := range g.r.Stacks {
		count[shapeOf(s)]++
	}
	for _, s := range g.r.Stacks {
		if shape := shapeOf(s); count[shape] > count[most] {
			most = shape
		}
	}
	return most
}

// covered are the directories of a shape whose Stacks have the name that an expression of the directory returns, and
// the expression.
func (g *generator) covered(shape string) (directories map[string]bool, name string) {
	var same []v1alpha1.Stack
	for _, s := range g.r.Stacks {
		at := s.Spec.Source.Git.Path
		f := g.at(at)
		if at != "" && f != nil && f.listed && shapeOf(s) == shape && isPlain(at) {
			same = append(same, s)
		}
	}
	var lower bool
	var found []rune
	for _, s := range same {
		for _, c := range s.Spec.Source.Git.Path {
			lower = lower || c >= 'A' && c <= 'Z'
			if strings.ContainsRune(replaced, c) && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	slices.Sort(found)
	name = "directory"
	if lower {
		name += ".lowerAscii()"
	}
	for _, c := range found {
		name += fmt.Sprintf(".replace('%c', '-')", c)
	}
	directories = map[string]bool{}
	for _, s := range same {
		as := strings.ToLower(s.Spec.Source.Git.Path)
		for _, c := range found {
			as = strings.ReplaceAll(as, string(c), "-")
		}
		if as == s.Name {
			directories[s.Spec.Source.Git.Path] = true
		}
	}
	return directories, "${" + name + "}"
}

// isPlain returns whether a path has only characters that patterns take as they are.
func isPlain(at string) bool {
	return !strings.ContainsFunc(at, func(c rune) bool {
		isWord := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
		return !isWord && !strings.ContainsRune(replaced, c)
	})
}

// patternsOf are patterns that match directories: one for all that are equally deep and have the same first part below
// a folder, or an environment there. What differs in them becomes a capture.
func patternsOf(folder string, directories []string) (patterns []string) {
	depth := 0
	if folder != "" {
		depth = len(strings.Split(folder, "/"))
	}
	groups := map[string][][]string{}
	for _, dir := range directories {
		parts := strings.Split(dir, "/")
		key := fmt.Sprintf("%d", len(parts))
		if len(parts) > depth+1 && !isEnvironment(parts[depth]) {
			key = parts[depth] + "/" + key
		}
		groups[key] = append(groups[key], parts)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		patterns = append(patterns, patternOf(groups[key]))
	}
	return patterns
}

func isEnvironment(part string) bool { return slices.Contains(environments, strings.ToLower(part)) }

// patternOf is a pattern of paths that are equally deep.
func patternOf(paths [][]string) string {
	parts := slices.Clone(paths[0])
	last, hasEnv := -1, false
	for i := range parts {
		if slices.ContainsFunc(paths, func(p []string) bool { return p[i] != paths[0][i] }) {
			last = i
		}
	}
	for i := range parts {
		isEnv := !slices.ContainsFunc(paths, func(p []string) bool { return !isEnvironment(p[i]) })
		switch {
		case !slices.ContainsFunc(paths, func(p []string) bool { return p[i] != paths[0][i] }):
		case isEnv && !hasEnv:
			parts[i], hasEnv = "{env}", true
		case i == last:
			parts[i] = "{name}"
		default:
			parts[i] = fmt.Sprintf("{part%d}", i+1)
		}
	}
	return path.Join(parts...)
}

// excludesOf are globs for the directories that patterns match, and that the StackSet has no Stack for. With units it
// is for the generator of Terragrunt units.
func (g *generator) excludesOf(include []string, covered map[string]bool, units bool) ([]string, error) {
	matched := func(by items.Directories) (map[string]bool, error) {
		files := g.markers()
		found, err := items.Items(context.Background(), []items.Generator{{Directories: &by}}, files, g.Units,
			len(files))
		all := map[string]bool{}
		for _, item := range found {
			all[item.Directory] = true
		}
		return all, err
	}
	by := items.Directories{Include: include}
	if units { // also those that Terragrunt skips, and those that cannot be read
		by.Marker = "{terragrunt.hcl,terragrunt.stack.hcl}"
	}
	all, err := matched(by)
	if err != nil {
		return nil, err
	}
	by.Marker, by.Units = "", units
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if covered[dir] || units && g.isSkipped(dir) {
			continue
		}
		if glob := excludeOf(dir, covered); !slices.Contains(by.Exclude, glob) {
			by.Exclude = append(by.Exclude, glob)
		}
	}
	if len(include) > mostPatterns || len(by.Exclude) > mostPatterns {
		return nil, fmt.Errorf("a StackSet would need %d patterns to include and %d to exclude directories, and %d "+
			"are possible: generate single Stacks, or a StackSet for a subdirectory", len(include), len(by.Exclude),
			mostPatterns)
	}
	if all, err = matched(by); err == nil && !maps.Equal(all, covered) {
		err = fmt.Errorf("no patterns match exactly the root modules: generate single Stacks")
	}
	return by.Exclude, err
}

// isSkipped returns whether the generator of Terragrunt units skips a directory by itself.
func (g *generator) isSkipped(dir string) bool {
	if f := g.at(dir); f == nil || !f.terragrunt {
		return false // a terragrunt.stack.hcl
	}
	unit, err := g.Units.Unit(context.Background(), dir)
	return err == nil && unit.Problem == "" && !unit.Runs
}

// at is the folder of a directory of the repository.
func (g *generator) at(dir string) *folder {
	return g.folders[strings.TrimPrefix(strings.TrimPrefix(dir, g.Folder), "/")]
}

// markers are paths of files that generators list directories by.
func (g *generator) markers() (files []string) {
	for at, f := range g.folders {
		for name, has := range map[string]bool{
			"main.tf": f.listed, "terragrunt.hcl": f.listed && f.terragrunt, "terragrunt.stack.hcl": f.unitStack,
		} {
			if has {
				files = append(files, path.Join(g.Folder, at, name))
			}
		}
	}
	return files
}

// excludeOf is a glob for a directory: for all directories of modules where it is one of those, and there is no Stack
// for any.
func excludeOf(dir string, covered map[string]bool) string {
	for part := range strings.SplitSeq(dir, "/") {
		has := func(of string) bool { return slices.Contains(strings.Split(of, "/"), part) }
		if slices.Contains(library, part) && !slices.ContainsFunc(slices.Collect(maps.Keys(covered)), has) {
			return "**/" + part + "/**"
		}
	}
	var glob strings.Builder
	for _, c := range dir {
		if strings.ContainsRune(`*?[]{}\`, c) {
			glob.WriteByte('\\')
		}
		glob.WriteRune(c)
	}
	return glob.String()
}
