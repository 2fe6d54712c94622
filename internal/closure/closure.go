// Package closure says what of a repository's content decides a Stack's result: its folder, the local modules that it
// calls, its triggers, variable files and version files. A commit that changes none of it is no cause for a Run.
//
// What belongs is also all that the code can read: paths in it are evaluated as far as they can be without the engine, and
// followed to what is outside of the folder (see reads.go). In doubt something belongs: a Run too many costs a plan, a file
// that is missing while the engine runs may cost a database. What only a running program knows cannot be seen here; a
// trigger names it.
//
// It asks for names and ids, and reads only files of code, version files and symlinks. It knows nothing of Kubernetes.
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

// Tree is what a repository has at one commit. *git.Tree is one.
type Tree interface {
	// Entry gives what is at a path; "" is the root.
	Entry(name string) (git.Entry, bool)
	// Dir lists a directory in the order of the names.
	Dir(name string) ([]git.Entry, bool)
}

// Blobs reads files.
type Blobs interface {
	// Blob reads the blob of an id. The error is a git.ErrTooLarge when it has more bytes than limit.
	Blob(ctx context.Context, id string, limit int64) ([]byte, error)
}

// Wanted says whose closure it is.
type Wanted struct {
	// Path of the folder with the root module, from the repository's root; "" and "." are the root.
	Path string
	// Triggers are globs over the paths of files from the repository's root, ** allowed. One without wildcards that names
	// a directory means all that is below it.
	Triggers []string
	// VariableFiles are paths of files, from the repository's root. Each has to be there.
	VariableFiles []string
	// Paths are what the Stack's own variables and scripts name above the folder (see PathsIn), from the folder.
	Paths []string
	// Terragrunt says that the folder has a terragrunt.hcl, and that this is read too.
	Terragrunt bool
}

// Closure is all that decides a Stack's result. Its lists are shared: they must not be changed.
type Closure struct {
	// Digest ("sha256:" and 64 hex digits) is over Path and over path, kind and id of all that belongs. At commits with
	// the same content it is the same.
	Digest string
	// Files are all files, symlinks and submodules that belong, by path.
	Files []git.Entry
	// Modules are the directories of local modules, by name.
	Modules []string
	// Engine is what the code says about the engine's version.
	Engine Engine
	// Open are the calls, for people, whose source cannot be known without running the engine (there is a variable in it).
	// If there is one, the whole repository belongs.
	Open []string
	// Dependencies are the Terragrunt units that the Stack's own unit depends on, by path.
	Dependencies []Dependency
	// Submodules says that there is a submodule among the Files: what is in it comes from another repository.
	Submodules bool
}

// Options of Closures.
type Options struct {
	// FileBytes is how long a file of code may be. 0 is 4 MiB.
	FileBytes int64
	// Modules is how many local modules and Terragrunt units a Stack may reach, and how many files a unit may include.
	// 0 is 1,000.
	Modules int
	// Remember is how much each kind of answer may take in memory, in entries of about 200 bytes; a Stack's closure is some
	// 20 of them. 0 is 200,000.
	Remember int
}

// Closures finds closures, and remembers what it found. All that it remembers goes by content, so one can serve many
// repositories. Its methods may be called at the same time.
type Closures struct {
	options Options
	// known are the latest answers, by Wanted.
	known *weightedlru.Cache[string, *answer]
	// matches are what globs matched below a directory.
	matches *weightedlru.Cache[globKey, matches]
	// links are the symlinks below a directory, by its id.
	links *weightedlru.Cache[string, []string]
	// targets of symlinks, code, configs and pins are what blobs hold, by id.
	targets *weightedlru.Cache[string, string]
	code    *weightedlru.Cache[codeKey, code]
	configs *weightedlru.Cache[string, config]
	pins    *weightedlru.Cache[string, Pin]
	// scripts are the paths in scripts that go up, by the id of the script.
	scripts *weightedlru.Cache[string, []string]
}

// New makes an empty memory.
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

// Of gives the closure of what is wanted in a tree. For what the error can be, see Reason.
func (c *Closures) Of(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (Closure, error) {
	a, err := c.answer(ctx, tree, blobs, w)
	if err != nil {
		return Closure{}, err
	}
	files := a.files(tree)
	submodules := slices.ContainsFunc(files, func(e git.Entry) bool { return e.Kind == git.KindSubmodule })
	return Closure{Digest: a.digest, Files: files, Modules: a.modules, Engine: a.engine, Open: a.open, Submodules: submodules, Dependencies: a.dependencies}, nil
}

// Digest gives the digest that Of would, without making the list of files: for the Stacks that a commit did not touch it
// is a few look-ups in memory.
func (c *Closures) Digest(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (string, error) {
	a, err := c.answer(ctx, tree, blobs, w)
	if err != nil {
		return "", err
	}
	return a.digest, nil
}

// answer gives the one from before if this tree says the same to all that was asked for it.
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

// Reach is what the code of a root module reads, with the directories as they are: all below them belongs.
type Reach struct {
	// Entries are the folder, local modules, and the files and directories that the code names outside of them.
	Entries []git.Entry
	// Modules and Open are those of a Closure. What is Open is not among the Entries.
	Modules, Open []string
}

// Reach gives what the code in a directory reads, for a tree that is a file system: nothing is listed that does not have
// to be, and a module that is missing is left to the engine.
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

// key is another one for each Wanted.
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

// files lists all that is no directory, in the roots and below them.
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
