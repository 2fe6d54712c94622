package closure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/git"
)

// Undelivered is a path that a function in the code of a downloaded module reads, and that is not in the closure of the
// root module: the closure was computed without the module's code.
type Undelivered struct {
	// Path from the repository's root: of a file, or of a directory with files whose names are not known.
	Path string
	// At is the position of the call in the code.
	At string
}

// Undelivered returns the first path that the code of downloaded modules reads and that the delivered closure does not
// include; nil if there is none. The tree has the closure and the modules, in directories below the root module. Of
// programs nothing is read. unknown describes the calls whose paths only the engine can evaluate.
func (c *Closures) Undelivered(
	ctx context.Context, tree Tree, blobs Blobs, w Wanted, modules []string,
) (missing *Undelivered, unknown []string, err error) {
	s := newSearch(c, tree, blobs)
	s.lenient, s.language = true, w.Language
	s.delivery = &delivery{asked: map[string]bool{}}
	s.budget.left = c.options.Work
	name, _ := CleanPath(w.Path)
	root, err := s.root(ctx, name)
	for _, step := range []func() error{
		func() error { return s.calls(ctx, root.Path) },
		func() error { return s.values(ctx, root, w) },
		func() error { return s.variableFiles(ctx, root, w) },
		func() error { return s.triggers(ctx, root, w) },
		func() error { return s.follow(ctx, root, w) },
	} {
		if err == nil {
			err = step()
		}
	}
	for _, text := range w.Triggers {
		if g, err := parseGlob(text); err == nil {
			s.delivery.triggers = append(s.delivery.triggers, g)
		}
	}
	if err == nil && len(s.open) == 0 {
		s.delivery.dirs = maps.Clone(s.dirs)
		for _, dir := range modules {
			if err = s.functions(ctx, root.Path, dir); err != nil || s.delivery.missing != nil {
				break
			}
		}
	}
	switch {
	case s.delivery.dirs == nil && (err == nil || Reason(err) != ""):
		return nil, nil, nil // the whole repository, or code that the engine rejects
	case errors.Is(err, errWork) || Reason(err) != "":
		s.open, err = append(s.open, "the modules name more paths than Cairn follows"), nil
	}
	if missing = s.delivery.missing; missing != nil {
		missing.At = strings.TrimPrefix(missing.At, root.Path+"/")
	}
	return missing, s.open, err
}

// delivery is what a search compares with the closure that was delivered.
type delivery struct {
	// asked are the paths that the root module's own code names: the closure has those that exist.
	asked map[string]bool
	// dirs are the directories of the closure; nil while it is computed.
	dirs     map[string]git.Entry
	triggers []glob
	missing  *Undelivered
}

// functions checks the calls of functions that read files in the code of a downloaded module.
func (s *search) functions(ctx context.Context, root, dir string) error {
	files := map[string]code{}
	if err := s.eachFile(ctx, dir, func(file string, twin bool, c code) error {
		if _, kind := engine.CodeFile(file); s.language.reads(kind, twin) {
			files[file] = c
		}
		return nil
	}); err != nil {
		return err
	}
	m := scopeOf(root, dir, files, &s.budget)
	for _, name := range sortedKeys(files) {
		for _, one := range files[name].paths.exprs {
			at := fmt.Sprintf("%s:%d", path.Join(dir, name), one.line)
			var err error
			anyOf(one.expr, func(e hclsyntax.Expression) bool {
				call, ok := e.(*hclsyntax.FunctionCallExpr)
				if ok && readsFiles.MatchString(call.Name+"(") && len(call.Args) > 0 {
					err = s.function(ctx, m, call, at)
				}
				return err != nil || s.delivery.missing != nil
			})
			if err != nil || s.delivery.missing != nil {
				return err
			}
		}
	}
	return s.budget.spend(0)
}

// function checks the paths that one call of a function reads.
func (s *search) function(ctx context.Context, m *scope, call *hclsyntax.FunctionCallExpr, at string) (err error) {
	if err = s.texts(ctx, m, call.Args[0], true, at, reader{}); err == nil {
		err = s.functionCalls(ctx, m, call, 0)
	}
	if found := s.delivery.missing; found != nil && found.At == "" {
		found.At = at
	}
	return err
}

// undelivered reports whether the search only compares paths with a closure that was delivered. It records a path that
// this closure does not include. A file that exists was delivered.
func (s *search) undelivered(name string, p place, at string) bool {
	d := s.delivery
	if d == nil {
		return false
	}
	name, inside := CleanPath(name)
	switch {
	case d.dirs == nil:
		if at != "" { // of a directory, only the files that match a glob are asked for
			d.asked[name] = true
		}
		return false
	case d.missing != nil, !inside, p.outside, p.Kind != 0 && p.Kind != git.KindDir, p.Kind == 0 && d.asked[name]:
		return true
	}
	if p.Kind == git.KindDir {
		name = p.Path
	}
	inModule := parentOf(name)
	document := isDocument(git.Entry{Path: name, Kind: git.KindFile}) && s.modules[inModule] && !s.isRead(inModule)
	for dir := name; !document; dir = parentOf(dir) {
		if _, ok := d.dirs[dir]; ok {
			return true
		}
		if dir == "" {
			break
		}
	}
	for _, g := range d.triggers {
		if g.names(name) {
			return true
		}
	}
	d.missing = &Undelivered{Path: name, At: at}
	return true
}

// names reports whether a trigger is about a path: it matches the path, or files below it.
func (g glob) names(name string) bool {
	if isBelow(g.base, name) && g.base != name {
		return true
	}
	if !isBelow(name, g.base) {
		return false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(name, g.base), "/")
	match, _ := doublestar.Match(g.pattern, rest)
	return g.pattern == "" || match || rest == "" || strings.Contains(g.pattern, "**")
}

// isBelow reports whether a path is a directory, or below it.
func isBelow(name, dir string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}
