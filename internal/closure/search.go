package closure

import (
	"context"
	"errors"
	"path"
	"strings"

	"cairn.dev/cairn/internal/git"
)

// search is one look for all that belongs. What it asks of the tree, and what is not below a directory that belongs, it
// notes in facts.
type search struct {
	c     *Closures
	tree  Tree
	blobs Blobs

	dirs, files map[string]git.Entry
	// named are the paths that something leads to, other than the call of a module.
	named map[string]bool
	// pending are the directories and symlinks that were added and whose targets were not yet.
	pending []git.Entry
	// modules that belong, and true when the calls in them were followed.
	modules map[string]bool
	// units of Terragrunt that were read.
	units map[string]bool
	// dependencies are the units that the Stack's own one depends on.
	dependencies []Dependency
	engine       Engine
	open         []string
	// evaluated counts the expressions that were evaluated for the paths in them.
	evaluated int
	// scripts that were read for the paths in them.
	scripts map[string]bool
	// lenient leaves it to the engine to say that a module or the code is missing.
	lenient bool

	facts map[string]git.Entry
	globs []globFact
}

func newSearch(c *Closures, tree Tree, blobs Blobs) *search {
	return &search{
		c: c, tree: tree, blobs: blobs, dirs: map[string]git.Entry{}, files: map[string]git.Entry{}, facts: map[string]git.Entry{}, named: map[string]bool{},
	}
}

// find looks for all that belongs.
func (s *search) find(ctx context.Context, w Wanted) (*answer, error) {
	name, ok := clean(w.Path)
	if !ok {
		return nil, fail(ErrPath, "path %q leads out of the repository", w.Path)
	}
	root, err := s.root(ctx, name)
	if err != nil {
		return nil, err
	}
	if w.Terragrunt {
		err = s.terragrunt(ctx, root)
	} else {
		err = s.rootModule(ctx, root)
	}
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, git.Entry, Wanted) error{s.versionFiles, s.triggers, s.variableFiles, s.values} {
		if err := step(ctx, root, w); err != nil {
			return nil, err
		}
	}
	if err := s.follow(ctx); err != nil {
		return nil, err
	}
	return s.answer(name), nil
}

// root gives the directory at a path; it belongs.
func (s *search) root(ctx context.Context, name string) (git.Entry, error) {
	p, err := s.resolve(ctx, name)
	switch {
	case err != nil:
		return git.Entry{}, err
	case p.outside:
		return git.Entry{}, fail(ErrPath, "path %s is a symlink out of the repository", name)
	case p.Kind == git.KindSubmodule:
		return git.Entry{}, fail(ErrPath, "path %s is in the submodule %s, which is a repository of its own", name, p.Path)
	case p.Kind != git.KindDir:
		return git.Entry{}, fail(ErrPath, "there is no directory %s; the nearest there is: %s", name, shown(p.nearest))
	}
	s.add(p.Entry)
	return p.Entry, nil
}

func (s *search) rootModule(ctx context.Context, root git.Entry) error {
	if !hasCode(s.tree, root.Path) {
		return s.noCode(root, "there is no code in %s: no file named *.tf, *.tofu, *.tf.json or *.tofu.json", shown(root.Path))
	}
	if err := s.require(ctx, root.Path); err != nil {
		return err
	}
	return s.calls(ctx, root.Path)
}

func (s *search) triggers(ctx context.Context, _ git.Entry, w Wanted) error {
	for _, text := range w.Triggers {
		g, err := parseGlob(text)
		if err != nil {
			return err
		}
		if g.pattern != "" {
			s.addMatches(g)
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
func (s *search) addMatches(g glob) {
	base, _ := s.tree.Entry(g.base)
	m := s.c.match(s.tree, g)
	s.globs = append(s.globs, globFact{glob: g, base: base.ID, sum: m.sum})
	for _, e := range m.files {
		s.add(e)
	}
}

func (s *search) variableFiles(ctx context.Context, root git.Entry, w Wanted) error {
	for _, text := range w.VariableFiles {
		name, ok := clean(text)
		if !ok {
			return fail(ErrVariableFile, "variable file %q leads out of the repository", text)
		}
		p, err := s.resolve(ctx, name)
		switch {
		case err != nil:
			return err
		case !isFile(p.Kind):
			return fail(ErrVariableFile, "there is no variable file %s; the nearest directory there is: %s", shown(name), shown(p.nearest))
		}
		s.add(p.Entry)
		if err := s.variables(ctx, root.Path, p.Entry); err != nil {
			return err
		}
	}
	return nil
}

// add says that something belongs which is named: a directory with all that is below it.
func (s *search) add(e git.Entry) {
	s.named[e.Path] = true
	s.belongs(e)
}

// belongs is add for what only the call of a module leads to.
func (s *search) belongs(e git.Entry) {
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

// covers says whether a path, or a directory that it is in, belongs.
func (s *search) covers(name string) bool {
	for {
		if _, ok := s.dirs[name]; ok || name == "" {
			return ok
		}
		name = parentOf(name)
	}
}

// follow adds what symlinks that belong lead to, until there is no more. One that leads nowhere, or out of the repository,
// brings nothing along.
func (s *search) follow(ctx context.Context) error {
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
	if errors.Is(err, git.ErrTooLarge) {
		err = fail(ErrTooLarge, "%s has more than %d bytes", e.Path, limit)
	}
	return data, err
}

// clean makes a path from the repository's root what trees call it, or says that it is none.
func clean(name string) (string, bool) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if name == "." {
		return "", true
	}
	return name, !outside(name)
}

// outside says whether a clean path leads out of where it starts.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

func isFile(k git.Kind) bool { return k == git.KindFile || k == git.KindExec }

func parentOf(name string) string {
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		return name[:at]
	}
	return ""
}

// shown is how a path is called before people.
func shown(name string) string {
	if name == "" {
		return "the repository's root"
	}
	return name
}
