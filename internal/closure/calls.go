package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"cairn.dev/cairn/internal/git"
)

// calls follows the calls of local modules from a directory's code, and from theirs. The directories belong with all
// that is below them, but calls are followed only in directories that are called: those are what the engine reads.
func (s *search) calls(ctx context.Context, dir string) error {
	for queue := []string{dir}; len(queue) > 0; {
		here := queue[0]
		queue = queue[1:]
		files := map[string]code{}
		err := s.eachFile(ctx, here, func(file string, twin bool, c code) error {
			files[file] = c
			for _, call := range c.calls {
				target, err := s.call(ctx, here, path.Join(here, file), twin, call)
				if err != nil {
					return err
				}
				if target != "" && !s.modules[target] && target != dir {
					if len(s.modules) >= s.c.options.Modules {
						return fail(ErrTooLarge, "%s calls more than %d local modules", shown(dir), s.c.options.Modules)
					}
					s.module(target)
					queue = append(queue, target)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.reads(ctx, dir, here, files); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) module(dir string) {
	if s.modules == nil {
		s.modules = map[string]bool{}
	}
	s.modules[dir] = true
}

// call adds what a call leads to, and gives its directory when there is code to follow in it.
func (s *search) call(ctx context.Context, dir, file string, twin bool, c call) (string, error) {
	at := fmt.Sprintf("%s:%d: module %.100q", file, c.line, c.name)
	if c.source == "" {
		s.open = append(s.open, at)
		return "", nil
	}
	p, err := s.local(ctx, dir, c.source, at)
	if err != nil || p.Kind == 0 {
		if (twin || s.lenient) && errors.Is(err, ErrModule) {
			return "", nil // the engine may be the one that does not read this file
		}
		return "", err
	}
	s.belongs(p.Entry)
	if p.Kind != git.KindDir {
		return "", nil
	}
	return p.Path, nil
}

// local goes to a directory, or a submodule, that code in another directory names. at says where it is named.
func (s *search) local(ctx context.Context, dir, source, at string) (place, error) {
	name := path.Join(dir, source)
	if outside(name) {
		return place{}, fail(ErrModule, "%s is at %.200q, which is outside of the repository", at, source)
	}
	p, err := s.resolve(ctx, name)
	switch {
	case err != nil:
		return place{}, err
	case p.outside:
		return place{}, fail(ErrModule, "%s is at %.200q, which is a symlink out of the repository", at, source)
	case p.Kind != git.KindDir && p.Kind != git.KindSubmodule:
		return place{}, fail(ErrModule, "%s is at %.200q, but there is no directory %.200q; the nearest there is: %s", at, source, name, shown(p.nearest))
	}
	return p, nil
}

// eachFile reads the code in a directory that belongs. OpenTofu takes x.tofu in place of x.tf, Terraform reads only the
// latter: both are read, and twin says that a file is one of such a pair.
func (s *search) eachFile(ctx context.Context, dir string, f func(file string, twin bool, c code) error) error {
	entries, _ := s.tree.Dir(dir)
	for _, e := range entries {
		base, kind := split(e.Name())
		if kind == "" || strings.HasPrefix(base, ".") {
			continue
		}
		c, err := s.readFile(ctx, e, strings.HasSuffix(kind, ".json"))
		if err != nil {
			return err
		}
		_, twin := s.tree.Entry(path.Join(dir, base+other(kind)))
		if err := f(e.Name(), twin, c); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a file of code, or one that a symlink leads to. What is no file says nothing.
func (s *search) readFile(ctx context.Context, e git.Entry, json bool) (code, error) {
	if e.Kind == git.KindSymlink {
		p, err := s.resolve(ctx, e.Path)
		if err != nil {
			return code{}, err
		}
		e = p.Entry
	}
	if !isFile(e.Kind) {
		return code{}, nil
	}
	key := codeKey{e.ID, json}
	if c, ok := s.c.code.Get(key); ok {
		return c, nil
	}
	text, err := s.read(ctx, e, s.c.options.FileBytes)
	if err != nil {
		return code{}, err
	}
	c := readCode(text, json)
	s.c.code.Add(key, c, len(c.calls)+c.paths.weight/codeWeight)
	return c, nil
}

// hasCode says whether an engine would find code in a directory.
func hasCode(tree Tree, dir string) bool {
	entries, _ := tree.Dir(dir)
	for _, e := range entries {
		if _, kind := split(e.Name()); kind != "" && e.Kind != git.KindDir && !strings.HasPrefix(e.Name(), ".") {
			return true
		}
	}
	return false
}

// split gives the name of a file of code without what says the kind of it, and the latter; or no kind.
func split(name string) (base, kind string) {
	for _, kind := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
		if base, ok := strings.CutSuffix(name, kind); ok {
			return base, kind
		}
	}
	return name, ""
}

// other is the kind of a file's twin.
func other(kind string) string {
	if isTofu(kind) {
		return strings.Replace(kind, ".tofu", ".tf", 1)
	}
	return strings.Replace(kind, ".tf", ".tofu", 1)
}

func isTofu(kind string) bool { return strings.HasPrefix(kind, ".tofu") }

// isOverride says whether a file of code replaces parts of what others say.
func isOverride(name string) bool {
	base, _ := split(name)
	return base == "override" || strings.HasSuffix(base, "_override")
}
