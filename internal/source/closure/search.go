package closure

import (
	"context"
	"errors"
	"path"
	"strings"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/git"
)

// search computes one closure. It records in facts the entries that it reads from the tree.
type search struct {
	c     *Closures
	tree  Tree
	blobs Blobs
	// language of the code.
	language Language

	dirs, files map[string]git.Entry
	// named are the paths that were added for another reason than the call of a module.
	named map[string]bool
	// pending are the added directories and symlinks whose targets are still to be added.
	pending []git.Entry
	// modules of the closure.
	modules map[string]bool
	// units of Terragrunt that were read.
	units map[string]bool
	// dependencies are the units that the Stack's own one depends on.
	dependencies []Dependency
	engine       Engine
	open         []string
	// evaluated counts the expressions that were evaluated for the paths in them, code the bytes of code that were
	// read.
	evaluated, code int
	counted         map[string]bool
	// budget is the work that the current step may still do.
	budget budget
	// scripts whose paths were followed.
	scripts map[string]bool
	// lenient ignores a module that does not exist: the engine reports it.
	lenient bool
	// broken continues after an error that a user corrects.
	broken bool
	// order: only what decides whether, and after which others, a unit of Terragrunt runs is read. runs is true if it
	// names a source, and included are the files that it includes.
	order, runs bool
	included    map[string]bool
	// delivery is not nil if the search compares downloaded modules with a closure, see delivered.go.
	delivery *delivery

	facts map[string]git.Entry
	globs []globFact
}

func newSearch(c *Closures, tree Tree, blobs Blobs) *search {
	return &search{
		c: c, tree: tree, blobs: blobs, dirs: map[string]git.Entry{}, files: map[string]git.Entry{},
		facts: map[string]git.Entry{}, named: map[string]bool{}, counted: map[string]bool{},
		included: map[string]bool{},
	}
}

// find computes the answer.
func (s *search) find(ctx context.Context, w Wanted) (*answer, error) {
	name, ok := CleanPath(w.Path)
	if !ok {
		return nil, fail(ErrPath, "the path %q is outside of the repository: set it to a folder, from the "+
			"repository's root",
			w.Path)
	}
	s.language = w.Language
	s.budget.left = s.c.options.Work
	root, err := s.root(ctx, name)
	if errors.Is(err, errWork) {
		return nil, fail(ErrPath, "the path %.200s leads through more symlinks than Cairn follows: set the path to "+
			"a directory",
			name)
	}
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, git.Entry, Wanted) error{
		s.rootCode, s.versionFiles, s.triggers, s.variableFiles, s.values, s.follow,
	} {
		s.budget.left = s.c.options.Work
		err := step(ctx, root, w)
		if errors.Is(err, errWork) {
			s.open = append(s.open, "the code, its triggers or symlinks name more paths than Cairn follows")
			err = nil
		}
		if s.broken && Reason(err) != "" {
			if !errors.Is(err, ErrNoCode) && !errors.Is(err, ErrTerragruntStack) { // those end nothing else
				s.open = append(s.open, err.Error())
			}
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	return s.answer(name), nil
}

// rootCode adds what the code of the root module names.
func (s *search) rootCode(ctx context.Context, root git.Entry, w Wanted) error {
	if w.Terragrunt {
		return s.terragrunt(ctx, root)
	}
	return s.rootModule(ctx, root)
}

// root returns the directory at a path, and adds it.
func (s *search) root(ctx context.Context, name string) (git.Entry, error) {
	p, err := s.resolve(ctx, name)
	switch {
	case err != nil:
		return git.Entry{}, err
	case p.outside:
		return git.Entry{}, fail(ErrPath, "the path %s is a symlink to a path outside of the repository: set "+
			"the path to a directory of the repository", name)
	case p.Kind == git.KindSubmodule:
		return git.Entry{}, fail(ErrPath, "the path %s is in the submodule %s, which is another repository: create a "+
			"Repository for it, and name that one in the Stack", name, p.Path)
	case p.Kind != git.KindDir:
		return git.Entry{}, fail(ErrPath, "the repository has no directory %s; the nearest one that exists is %s: "+
			"correct the path, or commit the directory", name, shown(p.nearest))
	}
	s.add(p.Entry)
	return p.Entry, nil
}

func (s *search) rootModule(ctx context.Context, root git.Entry) error {
	if !hasCode(s.tree, root.Path) {
		return s.noCode(root, "there is no code in %s: it has no file named *.tf, *.tofu, *.tf.json or "+
			"*.tofu.json; correct the path, or commit the code", shown(root.Path))
	}
	if err := s.require(ctx, root.Path); err != nil {
		return err
	}
	return s.calls(ctx, root.Path)
}

func (s *search) triggers(ctx context.Context, _ git.Entry, w Wanted) error {
	for _, text := range w.Triggers {
		g, err := parseGlob(text)
		if err != nil && s.broken {
			continue
		}
		if err != nil {
			return err
		}
		if g.pattern != "" {
			if err := s.addMatches(g); err != nil {
				return err
			}
			continue
		}
		p, err := s.resolve(ctx, g.base)
		if err != nil {
			return err
		}
		if p.Kind != 0 {
			s.add(p.Entry)
		}
	}
	return nil
}

// addMatches adds the files that a glob matches.
func (s *search) addMatches(g glob) error {
	base, _ := s.tree.Entry(g.base)
	m := s.c.match(s.tree, g)
	s.globs = append(s.globs, globFact{glob: g, base: base.ID, sum: m.sum})
	for _, e := range m.files {
		s.add(e)
	}
	return s.budget.spend((m.walked + len(m.files)) * entryWork)
}

func (s *search) variableFiles(ctx context.Context, root git.Entry, w Wanted) error {
	for _, text := range w.VariableFiles {
		name, ok := CleanPath(text)
		if !ok && s.broken {
			continue
		}
		if !ok {
			return fail(ErrVariableFile, "the variable file %q is outside of the repository: set its path from the "+
				"repository's root", text)
		}
		p, err := s.resolve(ctx, name)
		switch {
		case err != nil:
			return err
		case !isFile(p.Kind) && s.broken:
			continue
		case !isFile(p.Kind):
			return fail(ErrVariableFile, "the repository has no variable file %s; the nearest directory that "+
				"exists is %s: correct the path, or commit the file", shown(name), shown(p.nearest))
		}
		s.add(p.Entry)
		if err := s.variables(ctx, root.Path, p.Entry); err != nil {
			return err
		}
	}
	return nil
}

// add adds an entry that a path names: a directory with all that is below it.
func (s *search) add(e git.Entry) {
	s.named[e.Path] = true
	s.include(e)
}

// include adds an entry for the call of a module.
func (s *search) include(e git.Entry) {
	if s.covers(e.Path) {
		return
	}
	if e.Kind == git.KindDir {
		s.dirs[e.Path] = e
		s.pending = append(s.pending, e)
		return
	}
	if _, ok := s.files[e.Path]; ok {
		return
	}
	s.files[e.Path] = e
	if e.Kind == git.KindSymlink {
		s.pending = append(s.pending, e)
	}
}

// covers reports whether the closure has a path, or a directory that it is in.
func (s *search) covers(name string) bool {
	for {
		if _, ok := s.dirs[name]; ok || name == "" {
			return ok
		}
		name = parentOf(name)
	}
}

// follow adds the targets of the symlinks in the closure, and of the symlinks in these. A symlink whose target does not
// exist, or is outside of the repository, adds no entry.
func (s *search) follow(ctx context.Context, _ git.Entry, _ Wanted) error {
	for len(s.pending) > 0 {
		next := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		links := []string{next.Path}
		if next.Kind == git.KindDir {
			links = s.c.linksIn(s.tree, next)
		}
		for _, link := range links {
			p, err := s.resolve(ctx, link)
			if err != nil {
				return err
			}
			if p.Kind != 0 {
				s.add(p.Entry)
			}
		}
	}
	return nil
}

// read reads a blob that is at a path.
func (s *search) read(ctx context.Context, e git.Entry, limit int64) ([]byte, error) {
	data, err := s.blobs.Blob(ctx, e.ID, limit)
	var size *git.SizeError
	if errors.As(err, &size) {
		return nil, fail(ErrTooLarge, "%s has %d bytes, and the limit is %d: %s", e.Path, size.Size,
			size.Limit, splitFile)
	}
	return data, err
}

// splitFile is what a user can do about a file that is too large.
const splitFile = "split it into several files, or move data to a file that the code reads with a function"

// parse reads a file of code, waits for the memory to parse it, and calls f with its text. Of all files together a
// search parses at most Options.CodeBytes.
func (s *search) parse(ctx context.Context, e git.Entry, f func(text []byte) error) error {
	text, err := s.read(ctx, e, s.c.options.FileBytes)
	if err != nil {
		return err
	}
	release, err := hclparse.Acquire(ctx, len(text))
	if err != nil {
		return err
	}
	defer release()
	if err := f(text); errors.Is(err, hclparse.ErrTooLarge) {
		return fail(ErrTooLarge, "%s: %v: %s", e.Path, err, splitFile)
	}
	return nil
}

// count adds the size of a file of code, which may be from the cache, to those of the search: once for each path, as
// the steps of a search read a file again.
func (s *search) count(e git.Entry, size int) error {
	if err := s.budget.spend(parseWork * size); err != nil {
		return err
	}
	if s.counted[e.Path] {
		return nil
	}
	s.counted[e.Path] = true
	if s.code += size; s.code > s.c.options.CodeBytes {
		return fail(ErrTooLarge, "with %s the root module and its local modules have more than %d bytes of "+
			"code, which is the limit: split the root module into several, with a Stack for each", e.Path,
			s.c.options.CodeBytes)
	}
	return nil
}

// CleanPath returns a path from the repository's root in the form that trees use; false if it leads out of the
// repository.
func CleanPath(name string) (string, bool) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if name == "." {
		return "", true
	}
	return name, !outside(name)
}

// outside reports whether a clean path leads out of the directory where it starts.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

func isFile(k git.Kind) bool { return k == git.KindFile || k == git.KindExec }

func parentOf(name string) string {
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		return name[:at]
	}
	return ""
}

// shown returns a path for messages.
func shown(name string) string {
	if name == "" {
		return "the repository's root"
	}
	return name
}
