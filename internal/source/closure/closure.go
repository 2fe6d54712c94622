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
	"math"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/git"
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
	// Language is the one that the engine reads.
	Language Language
}

// Language is which files an engine reads as code.
type Language int

const (
	// AnyLanguage is for an engine that is not known: the files of both are read.
	AnyLanguage Language = iota
	// LanguageOfOpenTofu has x.tofu replace x.tf.
	LanguageOfOpenTofu
	// LanguageOfTerraform has no *.tofu.
	LanguageOfTerraform
)

// LanguageOf returns the language of the engine of a name or, for one that runs another engine, of that one.
func LanguageOf(name, wrapped string) Language {
	e, ok := engine.Find(name)
	if ok && e.Wraps() {
		e, ok = engine.Wrapped(wrapped)
	}
	switch {
	case !ok:
		return AnyLanguage
	case e.Traits.ReadsTofu:
		return LanguageOfOpenTofu
	}
	return LanguageOfTerraform
}

// reads reports whether an engine reads a file of code. twin is true when there is one of the other extension.
func (l Language) reads(kind string, twin bool) bool {
	switch l {
	case LanguageOfOpenTofu:
		return isTofu(kind) || !twin
	case LanguageOfTerraform:
		return !isTofu(kind)
	}
	return true
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
	// FileBytes is the most bytes of a file of code. 0 is hclparse.MaxBytes, which is also the most.
	FileBytes int64
	// CodeBytes is the most bytes of all code of a Stack: its root module and the local modules. 0 is 16 MiB.
	CodeBytes int
	// Modules is how many local modules and Terragrunt units a Stack may reach, and how many files a unit may include.
	// 0 is 1,000.
	Modules int
	// Work is how much work one step of a search may do, in bytes that are read, compared or evaluated. With more, the
	// closure is the whole repository. 0 is 600 million: about 20 seconds.
	Work int
	// CacheBytes is the memory of all caches, about. A Stack's closure takes some 5 KiB of the half that is for
	// closures. 0 is 128 MiB.
	CacheBytes int
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
	// blobs are what was read from blobs.
	blobs *weightedlru.Cache[blobKey, any]
}

// blobKey is a blob and what it was read as: the same bytes have another meaning in each syntax.
type blobKey struct{ id, as string }

// cached returns what was read from a blob earlier, or reads it. read also returns how much memory the result takes.
func cached[V any](c *Closures, id, as string, read func() (V, int, error)) (V, error) {
	if v, ok := c.blobs.Get(blobKey{id, as}); ok {
		return v.(V), nil
	}
	v, weight, err := read()
	if err == nil {
		c.blobs.Add(blobKey{id, as}, v, weight)
	}
	return v, err
}

// New returns a Closures with empty caches.
func New(o Options) *Closures {
	o.FileBytes = cmp.Or(o.FileBytes, hclparse.MaxBytes)
	o.CodeBytes = cmp.Or(o.CodeBytes, 16<<20)
	o.Modules = cmp.Or(o.Modules, 1000)
	o.Work = cmp.Or(o.Work, 600_000_000)
	bytes := cmp.Or(o.CacheBytes, 128<<20)
	return &Closures{
		options: o,
		known:   weightedlru.New[string, *answer](bytes/2, entryWeight),
		matches: weightedlru.New[globKey, matches](bytes/8, entryWeight),
		links:   weightedlru.New[string, []string](bytes/16, entryWeight),
		blobs:   weightedlru.New[blobKey, any](bytes/4, entryWeight),
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
	return Closure{Digest: a.digest, Files: files, Modules: a.modules, Engine: a.engine, Open: a.open,
		Submodules: submodules, Dependencies: a.dependencies}, nil
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

// Broken returns a digest of the files that decide a Stack's result and its error, where Of has an error that a user
// corrects. Files that the error hides, such as further modules, are all files of the repository.
func (c *Closures) Broken(ctx context.Context, tree Tree, blobs Blobs, w Wanted) (string, error) {
	s := newSearch(c, tree, blobs)
	s.lenient, s.broken = true, true
	a, err := s.find(ctx, w)
	if Reason(err) != "" {
		return "", nil // there is no directory with code
	}
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
	c.known.Add(key, a, len(key)+a.weight())
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
	s.budget.left = math.MaxInt // the command line, for its own user
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
	part(strconv.Itoa(int(w.Language)))
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
	without := map[string]bool{}
	for _, d := range a.documentless {
		without[d.path] = true
	}
	files = slices.DeleteFunc(files, func(e git.Entry) bool { return isDocument(e) && without[parentOf(e.Path)] })
	slices.SortFunc(files, func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) })
	return files
}
