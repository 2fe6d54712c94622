package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/test/gitserver"
)

// testCase is what a file of testdata describes.
type testCase struct {
	name              string
	wanted            closure.Wanted
	engine, workspace string
	variables         map[string]json.RawMessage
	backend           bool
	whole, newest     bool
	refused, pending  string
	ignored, changed  []string
	either            []string
	files, programs   map[string]string
	remote            map[string]string
	links, submodules map[string]string
}

// languages of the engines, as for a Stack.
var languages = map[string]closure.Language{
	"OpenTofu": closure.LanguageOfOpenTofu, "Terraform": closure.LanguageOfTerraform,
}

// submoduleCommit is the commit of every submodule. No server has it.
const submoduleCommit = "1111111111111111111111111111111111111111"

// readCases reads all files of testdata.
func readCases(t *testing.T) []*testCase {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var cases []*testCase
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseCase(strings.TrimSuffix(filepath.Base(name), ".txtar"), archive)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, c)
	}
	return cases
}

func parseCase(name string, archive *txtar.Archive) (*testCase, error) {
	c := &testCase{
		name: name, engine: "OpenTofu", wanted: closure.Wanted{Language: closure.LanguageOfOpenTofu},
		variables: map[string]json.RawMessage{}, files: map[string]string{},
		programs: map[string]string{}, remote: map[string]string{}, links: map[string]string{},
		submodules: map[string]string{},
	}
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, "remote/"); ok {
			c.remote[name] = string(file.Data)
			continue
		}
		c.files[file.Name] = string(file.Data)
		if len(file.Data) == 0 {
			c.files[file.Name] = gitserver.Empty
		}
	}
	described := false
	for line := range bytes.Lines(archive.Comment) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "#") {
			described = true
		} else if text != "" {
			if err := c.parseLine(text); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
	}
	if !described {
		return nil, fmt.Errorf("no line starts with # and describes the case")
	}
	return c, c.check()
}

func (c *testCase) parseLine(line string) error {
	key, value, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("not a line of the form key: value")
	}
	switch key {
	case "path":
		c.wanted.Path = value
	case "engine":
		c.engine, c.wanted.Terragrunt, c.wanted.Language = value, value == "Terragrunt", languages[value]
	case "workspace":
		c.workspace = value
	case "trigger":
		c.wanted.Triggers = append(c.wanted.Triggers, value)
	case "variables":
		c.wanted.VariableFiles = append(c.wanted.VariableFiles, value)
	case "variable":
		name, value, _ := strings.Cut(value, "=")
		c.variables[name] = json.RawMessage(value)
		c.wanted.Paths = append(c.wanted.Paths, closure.PathsIn(value)...) // as for a Stack
	case "backend":
		c.backend = true
	case "link":
		link, target, _ := strings.Cut(value, " -> ")
		c.links[link] = target
	case "exec":
		c.programs[value] = c.files[value]
		delete(c.files, value)
	case "submodule":
		c.submodules[value] = submoduleCommit
		c.files[".gitmodules"] += fmt.Sprintf("[submodule %q]\n\tpath = %s\n\turl = ../other.git\n", value, value)
	case "ignores":
		c.ignored = append(c.ignored, value)
	case "changes":
		c.changed = append(c.changed, value)
	case "either":
		c.either = append(c.either, value)
	case "newest":
		c.newest = true
	case "whole":
		c.whole = true
	case "refused":
		c.refused = value
	case "pending":
		c.pending = value
	default:
		return fmt.Errorf("no key is called %q", key)
	}
	return nil
}

// check rejects what contradicts itself.
func (c *testCase) check() error {
	paths := c.paths()
	for _, name := range c.changed {
		if slices.Contains(paths, name) {
			return fmt.Errorf("changes: %s exists, so that it starts a Run anyway", name)
		}
	}
	for _, name := range c.either {
		if !slices.Contains(paths, name) || slices.Contains(c.ignored, name) {
			return fmt.Errorf("either: %s does not exist, or is ignored", name)
		}
	}
	return nil
}

// paths are those of all files and symlinks of the repository.
func (c *testCase) paths() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, kind := range []map[string]string{c.files, c.programs, c.links} {
			for name := range maps.Keys(kind) {
				if !yield(name) {
					return
				}
			}
		}
	})
}

// edit is a commit on top of the case's own, on a branch of its own.
type edit struct {
	name   string
	change gitserver.Change

	ignored bool // no Run may start; otherwise one must
}

// edits returns the edits of all files.
func (c *testCase) edits() []edit {
	var all []edit
	add := func(what, name string, change gitserver.Change, ignored bool) {
		change.Onto, change.Branch = "main", fmt.Sprintf("edit-%d", len(all))
		all = append(all, edit{name: what + " of " + name, change: change, ignored: ignored})
	}
	one := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, name := range c.paths() {
		if slices.Contains(c.either, name) || name == ".gitmodules" {
			continue
		}
		ignored := slices.Contains(c.ignored, name)
		change := gitserver.Change{}
		switch {
		case c.links[name] != "":
			change.Links = one(name, c.links[name]+"-moved")
		case c.programs[name] != "":
			change.Programs = one(name, strings.TrimPrefix(c.programs[name], gitserver.Empty)+"\n")
		default:
			change.Files = one(name, strings.TrimPrefix(c.files[name], gitserver.Empty)+"\n")
		}
		add("an edit", name, change, ignored)
		add("the removal", name, gitserver.Change{Files: one(name, "")}, ignored)
	}
	for _, name := range slices.Concat(c.changed, c.ignored) {
		if !slices.Contains(c.paths(), name) {
			add("the creation", name, gitserver.Change{Files: one(name, "{}\n")}, slices.Contains(c.ignored, name))
		}
	}
	return all
}

// commit is the case's own.
func (c *testCase) commit() gitserver.Change {
	return gitserver.Change{Files: c.files, Programs: c.programs, Links: c.links, Submodules: c.submodules}
}
