package stackset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/controller/stackset/units"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/closure"
	source "cairn.dev/cairn/internal/source/git"
)

// checkout is the working tree of a Git repository.
type checkout struct {
	root string
	// files are the paths of the regular files from the root: tracked ones, and new ones that git does not ignore.
	files []string
	// Reader reads the units of Terragrunt in these files, with symbolic links, and the directories that contain them.
	units.Reader
}

// tracked is the part of a directory that a commit of it would have.
type tracked struct {
	closure.Disk
	names map[string]bool
}

// Entry returns the entry at a path.
func (t tracked) Entry(name string) (source.Entry, bool) {
	if name != "" && !t.names[name] {
		return source.Entry{}, false
	}
	return t.Disk.Entry(name)
}

// Dir lists a directory in the order of the names.
func (t tracked) Dir(name string) ([]source.Entry, bool) {
	entries, ok := t.Disk.Dir(name)
	return slices.DeleteFunc(entries, func(e source.Entry) bool { return !t.names[e.Path] }), ok
}

// readCheckout lists the working tree that contains a directory.
func readCheckout(ctx context.Context, dir string) (checkout, error) {
	root, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return checkout{}, fmt.Errorf("%s is in no working tree of git (%w): select one with --dir", dir, err)
	}
	c := checkout{root: strings.TrimSuffix(root, "\n")}
	tree := tracked{closure.Disk{Root: c.root, Hidden: func(string) bool { return false }}, map[string]bool{}}
	c.Reader = units.Reader{Closures: closure.New(closure.Options{}), Tree: tree, Blobs: tree}
	listed, err := git(ctx, c.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return c, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		// A deleted file is still in git's index. Cairn does not read symbolic links and submodules as files.
		info, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() {
			c.files = append(c.files, name)
		}
		for at := name; at != "." && !tree.names[at]; at = path.Dir(at) {
			tree.names[at] = true
		}
	}
	slices.Sort(c.files)
	return c, nil
}

// ID returns nothing: a preview renders the files once.
func (c checkout) ID(string) string { return "" }

// Read returns the content of a file, or render.ErrTooLarge.
func (c checkout) Read(_ context.Context, path string, limit int64) ([]byte, error) {
	file, err := os.OpenInRoot(c.root, filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if int64(len(data)) > limit {
		return nil, render.ErrTooLarge
	}
	return data, err
}

// git returns the output of a git command in a directory.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return "", errors.New(line)
	}
	return string(out), err
}

// library are names of directories with modules for other code, or with examples.
var library = []string{"modules", "module", "examples", "example", "test", "tests", "testdata", "fixtures"}

// forgotten returns the directories that probably have a root module, and are not in used: they have code, no module of
// the repository calls them, they are not in a directory of modules or examples, and no exclude of the StackSet matches
// them. Of those with a terragrunt.hcl it returns the units, and those that it cannot read.
func (c checkout) forgotten(ctx context.Context, set *v1alpha1.StackSet, used map[string]bool) []string {
	excluded := excludes(set)
	var directories []string
	called, has := map[string]bool{}, map[string]bool{}
	for _, file := range c.files {
		dir, name := path.Split(file)
		dir = path.Clean(dir)
		switch _, code := engine.CodeFile(name); {
		case code != "":
			has[dir] = true
			for _, to := range calls(filepath.Join(c.root, filepath.FromSlash(file)), name) {
				called[path.Join(dir, to)] = true
			}
		case name == "terragrunt.hcl" && dir != ".":
			if u, err := c.Unit(ctx, dir); u.Runs || err != nil {
				has[dir] = true
			}
		case name == "terragrunt.stack.hcl" && dir != ".":
			has[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(has)) {
		isExcluded := slices.ContainsFunc(excluded, func(glob string) bool {
			return doublestar.MatchUnvalidated(glob, dir)
		})
		inLibrary := slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
			return slices.Contains(library, part)
		})
		if !used[dir] && !called[dir] && !inLibrary && !isExcluded {
			directories = append(directories, dir)
		}
	}
	return directories
}

// excludes are the globs of all generators of a StackSet.
func excludes(set *v1alpha1.StackSet) (globs []string) {
	for _, g := range set.Spec.Generators {
		if g.Terragrunt != nil {
			globs = append(globs, g.Terragrunt.Exclude...)
		}
		for _, items := range append(slices.Clone(g.Matrix), g.StackSetItems) {
			if items.Directories != nil {
				globs = append(globs, items.Directories.Exclude...)
			}
		}
	}
	return globs
}

var (
	moduleSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}}
	sourceSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
)

// calls returns the sources of the local modules that a file calls. It returns none for a file that cannot be read.
func calls(file, name string) (sources []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	body, _ := hclparse.ParseAny(text, name, strings.HasSuffix(name, ".json"))
	if body == nil {
		return nil
	}
	content, _, _ := body.PartialContent(moduleSchema)
	for _, block := range content.Blocks {
		in, _, _ := block.Body.PartialContent(sourceSchema)
		source := in.Attributes["source"]
		if source == nil {
			continue
		}
		value, _ := source.Expr.Value(nil)
		if !value.IsWhollyKnown() || value.IsNull() || value.Type().FriendlyName() != "string" {
			continue
		}
		if text := value.AsString(); strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
			sources = append(sources, text)
		}
	}
	return sources
}
