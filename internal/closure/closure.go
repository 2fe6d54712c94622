// Package closure computes which files of a repository decide a Stack's result: its folder, the local modules that it
// calls, its triggers, variable files and version files. A commit that changes none of these files causes no Run.
//
// The closure also includes all files that the code can read: paths in the code are evaluated as far as that is
// possible without the engine, and followed to files outside of the folder (see reads.go). In doubt a file is
// included: an unnecessary Run costs one plan, a file that does not exist while the engine runs may cost a database.
// A path that only a running program computes cannot be detected; a trigger names it.
//
// The package lists names and IDs, and reads only files of code, version files and symlinks. It does not use
// Kubernetes.
package closure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/git"
	"cairn.dev/cairn/internal/weightedlru"
)

// Tree lists the content of a repository at one commit. *git.Tree is one.
type Tree interface {
	// Entry returns the entry at a path; "" is the root.
	Entry(name string) (git.Entry, bool)
	// Dir lists a directory in the order of the names.
	Dir(name string) ([]git.Entry, bool)
}

// Blobs reads files.
type Blobs interface {
	// Blob reads the blob of an ID. The error is a git.ErrTooLarge when it has more bytes than limit.
	Blob(ctx context.Context, id string, limit int64) ([]byte, error)
}

// Wanted describes the Stack whose closure is computed.
type Wanted struct {
	// Path of the folder with the root module, from the repository's root; "" and "." are the root.
	Path string
	// Triggers are globs over the paths of files from the repository's root, ** allowed. One without wildcards that
	// names a directory means all that is below it.
	Triggers []string
	// VariableFiles are paths of files, from the repository's root. Each has to exist.
	VariableFiles []string
	// Paths are the paths above the folder in the Stack's own variables and scripts (see PathsIn), from the folder.
	Paths []string
	// Terragrunt is true when the folder has a terragrunt.hcl, which is read too.
	Terragrunt bool
}

// Closure lists all files that decide a Stack's result. Its lists are shared: they must not be changed.
type Closure struct {
	// Digest ("sha256:" and 64 hex digits) is a hash of Path, and of path, kind and ID of all Files. At commits with
	// the same content it is the same.
	Digest string
	// Files are all files, symlinks and submodules of the closure, by path.
	Files []git.Entry
	// Modules are the directories of local modules, by name.
	Modules []string
	// Engine has the engine versions that the code requires.
	Engine Engine
	// Open describes, for messages, the calls whose source is known only to a running engine (it has a variable). If
	// there is one, the closure is the whole repository.
	Open []string
	// Dependencies are the Terragrunt units that the Stack's own unit depends on, by path.
	Dependencies []Dependency
	// Submodules is true when there is a submodule among the Files: its content is in another repository.
	Submodules bool
}

// Options of Closures.
type Options struct {
	// FileBytes is how long a file of code may be. 0 is 4 MiB.
	FileBytes int64
	// Modules is how many local modules and Terragrunt units a Stack may reach, and how many files a unit may include.
	// 0 is 1,000.
	Modules int
	// Remember limits the memory of each cache, in entries of about 200 bytes; a Stack's closure has about 20 of them.
	// 0 is 200,000.
	Remember int
}

// Closures computes closures, and caches the results. All caches are keyed by content, so one Closures can serve many
// repositories. Its methods may be called at the same time.
type Closures struct {
	options Options
	// known are the latest answers, by Wanted.
	known *weightedlru.Cache[string, *answer]
	// matches are the files that globs matched below a directory.
	matches *weightedlru.Cache[globKey, matches]
	// links are the symlinks below a directory, by its ID.
	links *weightedlru.Cache[string, []string]
	// targets of symlinks, code, configs and pins are the parsed contents of blobs, by ID.
	targets *weightedlru.Cache[string, string]
	code    *weightedlru.Cache[codeKey, code]
	configs *weightedlru.Cache[string, config]
	pins    *weightedlru.Cache[string, Pin]
	// scripts are the paths in scripts that go up, by the ID of the script.
	scripts *weightedlru.Cache[string, []string]
}

// New returns a Closures with empty caches.
func New(o Options) *Closures {
	o.FileBytes = cmp.Or(o.FileBytes, 4<<20)
	o.Modules = cmp.Or(o.Modules, 1000)
	o.Remember = cmp.Or(o.Remember, 200_000)
	return &Closures{
		options: o,
		known:   weightedlru.New[string, *answer](o.Remember, 1),
		matches: weightedlru.New[globKey, matches](o.Remember, 1),
		links:   weightedlru.New[string, []string](o.Remember, 1),
		targets: weightedlru.New[string, string](o.Remember, 1),
		code:    weightedlru.New[codeKey, code](o.Remember, 1),
		configs: weightedlru.New[string, config](o.Remember, 1),
		pins:    weightedlru.New[string, Pin](o.Remember, 1),
		scripts: weightedlru.New[string, []string](o.Remember, 1),
	}
}

// Of returns the closure of a Stack in a tree. Reason returns the kind of its errors.
func (c *Closures) Of(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (Closure, error) {
	a, err := c.answer(ctx, tree, blobs, w)
	if err != nil {
		return Closure{}, err
	}
	files := a.files(tree)
	submodules := slices.ContainsFunc(files, func(e git.Entry) bool { return e.Kind == git.KindSubmodule })
	return Closure{Digest: a.digest, Files: files, Modules: a.modules, Engine: a.engine, Open: a.open, Submodules: submodules, Dependencies: a.dependencies}, nil
}

// Digest returns the same digest as Of, without a list of the files: for the Stacks that a commit did not change it
// takes a few look-ups in memory.
func (c *Closures) Digest(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (string, error) {
	a, err := c.answer(ctx, tree, blobs, w)
	if err != nil {
		return "", err
	}
	return a.digest, nil
}

// answer returns the cached answer if this tree has the same entries, or else computes one.
func (c *Closures) answer(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (*answer, error) {
	key := w.key()
	if a, ok := c.known.Get(key); ok && c.holds(a, tree) {
		return a, nil
	}
	s := newSearch(c, tree, blobs)
	a, err := s.find(ctx, w)
	if err != nil {
		return nil, err
	}
	c.known.Add(key, a, len(a.roots)+len(a.facts)+len(a.globs)+len(a.modules)+len(a.open)+len(a.dependencies))
	return a, nil
}

// Reach lists the files and directories that the code of a root module reads. A directory includes all that is below
// it.
type Reach struct {
	// Entries are the folder, local modules, and the files and directories that the code names outside of them.
	Entries []git.Entry
	// Modules and Open are those of a Closure. The targets of the calls in Open are not among the Entries.
	Modules, Open []string
}

// Reach returns the files and directories that the code in a directory reads, for a tree that is a file system: it
// lists no directory that it does not need, and a module that does not exist is no error: the engine reports it.
func (c *Closures) Reach(ctx context.Context, tree Tree, blobs Blobs, dir string) (Reach, error) {
	s := newSearch(c, tree, blobs)
	s.lenient = true
	root, err := s.root(ctx, dir)
	if err != nil {
		return Reach{}, err
	}
	if err := s.calls(ctx, root.Path); err != nil {
		return Reach{}, err
	}
	if err := s.values(ctx, root, Wanted{}); err != nil {
		return Reach{}, err
	}
	return Reach{Entries: s.roots(), Modules: sortedKeys(s.modules), Open: s.open}, nil
}

// key is different for each Wanted.
func (w Wanted) key() string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	part(w.Path)
	part(strconv.FormatBool(w.Terragrunt))
	for _, list := range [][]string{w.Triggers, w.VariableFiles, w.Paths} {
		part(strconv.Itoa(len(list)))
		for _, s := range list {
			part(s)
		}
	}
	return b.String()
}

// files lists the files, symlinks and submodules among the roots and below them.
func (a *answer) files(tree Tree) []git.Entry {
	var files []git.Entry
	add := func(e git.Entry) { files = append(files, e) }
	for _, root := range a.roots {
		if root.Kind == git.KindDir {
			walk(tree, root.Path, -1, add)
		} else {
			add(root)
		}
	}
	for _, d := range a.documentless {
		files = slices.DeleteFunc(files, func(e git.Entry) bool { return isDocument(e) && parentOf(e.Path) == d.path })
	}
	slices.SortFunc(files, func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) })
	return files
}
