package closure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/git"
)

const (
	// mostReads is how many expressions of a Stack are evaluated. With more, the closure is the whole repository.
	mostReads = 50_000
	// largestVariables is the most bytes of a variable file whose paths are followed.
	largestVariables = 4 << 20
)

// separators end a path in a command, or in any other text.
const separators = " \t\r\n\"'`,;|&()<>=:{}[]"

// reads adds the files and directories that a module's code names outside of the folders of the closure, and those that
// match a path with an unknown part. A path that does not exist is recorded: once it is created, it is in the closure.
func (s *search) reads(ctx context.Context, root, dir string, files map[string]code) error {
	m := scopeOf(root, dir, files, &s.budget)
	for _, name := range sortedKeys(files) {
		p := files[name].paths
		file := path.Join(dir, name)
		if s.evaluated += len(p.exprs); p.tooMany || s.evaluated > mostReads {
			s.open = append(s.open, file+": the code has more paths than Cairn follows")
			return nil
		}
		for _, one := range p.exprs {
			if one.local != "" && m.isEvaluated(one.local) {
				continue
			}
			if err := s.expression(ctx, m, one, fmt.Sprintf("%s:%d", file, one.line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scopeOf returns the scope of a module with the local values in its code.
func scopeOf(root, dir string, files map[string]code, b *budget) *scope {
	m := newScope(root, dir, map[string]hclsyntax.Expression{}, b)
	for _, override := range []bool{false, true} { // override files come last, and replace the values of the others
		for _, name := range sortedKeys(files) {
			if engine.IsOverride(name) != override {
				continue
			}
			for local, expr := range files[name].paths.locals {
				if _, twice := m.locals[local]; !twice || override {
					m.locals[local] = expr
				}
			}
		}
	}
	return m
}

// expression adds the files that an expression names. at is its position in the code, for messages.
func (s *search) expression(ctx context.Context, m *scope, one pathExpr, at string) error {
	by := reader{program: one.program}
	if one.workingDir != nil {
		var err error
		if by.from, err = s.workingDirs(ctx, m, one.workingDir); err != nil {
			return err
		}
	}
	if err := s.texts(ctx, m, one.expr, one.program, at, by); err != nil {
		return err
	}
	return s.functionCalls(ctx, m, one.expr, 0)
}

// texts adds the files that the texts of an expression name. all is that of scope.texts.
func (s *search) texts(
	ctx context.Context, m *scope, expr hclsyntax.Expression, all bool, at string, by reader,
) (err error) {
	lost := m.texts(expr, all, func(text string) {
		if err == nil {
			err = s.text(ctx, m, text, at, by.program, by.from)
		}
	})
	if lost != nil {
		s.open = append(s.open, at+": a path that is computed from an absolute path")
	}
	return cmp.Or(err, s.budget.spend(0))
}

// functionCalls adds the files that the calls of functions in an expression match or render.
func (s *search) functionCalls(ctx context.Context, m *scope, expr hclsyntax.Expression, depth int) error {
	if err := s.filesets(ctx, m, expr); err != nil {
		return err
	}
	return cmp.Or(s.templates(ctx, m, expr, depth), s.budget.spend(0))
}

// filesets adds the files that calls of fileset match, if their pattern goes up.
func (s *search) filesets(ctx context.Context, m *scope, expr hclsyntax.Expression) (err error) {
	anyOf(expr, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		if !ok || nameOf(call) != "fileset" || len(call.Args) != 2 {
			return false
		}
		dir, known := asText(m.value(call.Args[0]))
		pattern, also := asText(m.value(call.Args[1]))
		if !known || !also || !goesUp(pattern) {
			return false
		}
		if dir, known = strings.CutPrefix(dir, repositoryRoot); !known {
			dir = m.root + "/" + dir
		}
		err = s.matching(ctx, dir+"/", pattern)
		return err != nil
	})
	return err
}

// matching adds the files that a pattern matches from a directory. The pattern may go up before its first wildcard.
func (s *search) matching(ctx context.Context, dir, pattern string) error {
	base, rest := splitGlob(pattern)
	if rest == "" || goesUp(rest) || alternatives(rest) > mostAlternatives || !doublestar.ValidatePattern(rest) {
		return nil // a path, which is followed as one, or a pattern that engines reject
	}
	p, err := s.resolve(ctx, dir+base)
	if err != nil || s.undelivered(dir+base, p, "") || p.Kind != git.KindDir {
		return err
	}
	return s.addMatches(glob{base: p.Path, pattern: rest})
}

// values adds the files that values of variables name, in the root module's folder and in the Stack.
func (s *search) values(ctx context.Context, root git.Entry, w Wanted) error {
	entries, _ := s.tree.Dir(root.Path)
	for _, e := range entries {
		if name := e.Name(); isFile(e.Kind) && (strings.HasSuffix(name, ".tfvars") ||
			strings.HasSuffix(name, ".tfvars.json")) {
			if err := s.variables(ctx, root.Path, e); err != nil {
				return err
			}
		}
	}
	for _, name := range w.Paths {
		if name == unknown {
			s.open = append(s.open, "the Stack's scripts: a program that goes up from an unknown directory")
			continue
		}
		by := reader{root: root.Path, program: true}
		if err := s.readFrom(ctx, root.Path+"/"+name, "the Stack's variables and scripts", by); err != nil {
			return err
		}
	}
	return nil
}

// variables adds the files that the values in a variable file name.
func (s *search) variables(ctx context.Context, root string, e git.Entry) error {
	c, err := s.readFile(ctx, e, strings.HasSuffix(e.Path, ".json"))
	if errors.Is(err, ErrTooLarge) { // values are data: the paths in them are found without a parser
		return s.pathsIn(ctx, e, largestVariables, []string{root}, reader{root: root})
	}
	if err != nil {
		return err
	}
	return s.reads(ctx, root, parentOf(e.Path), map[string]code{e.Name(): c})
}

// text adds the targets of the paths in a text. Relative paths start where the engine runs; in the arguments of a
// program they may start in the module's directory, in its working directories, and where it changes to.
func (s *search) text(ctx context.Context, m *scope, text, at string, program bool, from []string) error {
	tokens := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
	if !program && len(tokens) > 1 && !strings.ContainsAny(text, unknown+"$%\n") {
		tokens = append(tokens, text) // names have spaces, too
	}
	bases := []string{m.root}
	if program {
		bases = append(bases, m.dir)
		bases = append(bases, from...)
		changes := changesOf(text)
		for _, dir := range changes.dirs {
			for _, base := range bases[:len(bases):len(bases)] {
				if rest, ok := strings.CutPrefix(dir, repositoryRoot); ok {
					bases = append(bases, rest)
					break
				}
				bases = append(bases, base+"/"+dir)
			}
		}
		if changes.unknown && slices.ContainsFunc(tokens, goesUp) {
			s.open = append(s.open, at+": a program that goes up from an unknown directory")
		}
		slices.Sort(bases)
		bases = slices.Compact(bases)
	}
	for _, token := range tokens {
		if rest, ok := strings.CutPrefix(token, "/.."); ok && program {
			token = ".." + rest // the part before it is evaluated by a shell, as in $(dirname "$0")/../lib.sh
		}
		known, rest, holes := strings.Cut(token, unknown)
		if at := strings.IndexAny(known, "$%"); at >= 0 { // a variable of a shell, or a verb of a format
			known, rest, holes = known[:at], known[at:]+rest, true
		}
		fromRoot, absolute := strings.CutPrefix(known, repositoryRoot)
		switch {
		case goesUp(rest):
			s.open = append(s.open, fmt.Sprintf("%s: a path that goes up from an unknown directory: %.200q", at,
				show(token)))
			continue
		case !absolute && (path.IsAbs(known) || !goesUp(known) && (!program || !isName(known))):
			continue // not in the repository, or below the folder
		}
		names := []string{fromRoot}
		if !absolute {
			names = names[:0]
			for _, base := range bases {
				names = append(names, base+"/"+known)
			}
		}
		for _, name := range names {
			var err error
			if holes {
				suffix := rest[strings.LastIndexAny(rest, unknown+"$%")+1:]
				err = s.readLike(ctx, name, suffix)
			} else {
				err = s.readFrom(ctx, name, at, reader{root: m.root, program: program, from: from})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// show returns a text for messages, with a star for each unknown part.
func show(text string) string { return strings.ReplaceAll(text, unknown, "*") }

// goesUp reports whether a path has a part "..".
func goesUp(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// reader describes what reads a path.
type reader struct {
	// root is the directory where the engine runs.
	root string
	// program is true for a program, or its arguments. Its working directories are in from.
	program bool
	from    []string
}

// readFrom adds the target of a path. Of a program's script, it also adds the files that the script names above its
// folder.
func (s *search) readFrom(ctx context.Context, name, at string, by reader) error {
	p, err := s.resolve(ctx, name)
	switch {
	case err != nil:
		return err
	case s.undelivered(name, p, at), p.Kind == 0 || p.outside:
		return nil
	case p.Path == "" && by.root != "":
		s.open = append(s.open, at+": the path of the whole repository")
		return nil
	}
	s.add(p.Entry)
	if by.program { // which may read the files around it
		for dir := parentOf(p.Path); dir != ""; dir = parentOf(dir) {
			s.named[dir] = true
		}
	}
	if by.program && isFile(p.Kind) {
		return s.script(ctx, p.Entry, by)
	}
	return nil
}

// readLike adds all files that a path with an unknown part may name: those whose path begins with the text before that
// part, and ends with the text after it. The part has no ".." in it.
func (s *search) readLike(ctx context.Context, before, after string) error {
	dir, name := path.Split(before)
	p, err := s.resolve(ctx, dir)
	if err != nil || s.undelivered(dir, p, "") || p.Kind != git.KindDir {
		return err
	}
	if s.covers(p.Path) {
		s.named[p.Path] = true
		return nil
	}
	begin, end := escapeGlob(name), escapeGlob(after)
	for _, pattern := range []string{begin + "*" + end, begin + "*/**/*" + end} {
		for _, pattern := range []string{pattern, strings.TrimSuffix(pattern, "/") + "/**"} {
			if err := s.addMatches(glob{base: p.Path, pattern: pattern}); err != nil {
				return err
			}
		}
	}
	return nil
}

// escapeGlob returns a glob that matches only this text.
func escapeGlob(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\*?[]{}!^,`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
