package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/git"
)

// calls follows the calls of local modules in a directory's code, and the calls in those modules. The closure includes
// all files below a module's directory, but calls are followed only in the directory itself: the engine reads no other.
func (s *search) calls(ctx context.Context, dir string) error {
	for queue := []string{dir}; len(queue) > 0; {
		here := queue[0]
		queue = queue[1:]
		files := map[string]code{}
		replaced := map[string]string{} // the file whose source of a module an engine reads, by the module's name
		var twins []string
		err := s.eachFile(ctx, here, func(file string, twin bool, c code) error {
			_, kind := engine.CodeFile(file)
			if !s.language.reads(kind, twin) {
				return nil
			}
			files[file] = c
			if twin {
				twins = append(twins, file)
			}
			if engine.IsOverride(file) && (s.language != AnyLanguage || !twin && !isTofu(kind)) {
				for _, call := range c.calls {
					replaced[call.name] = file // of several files, the last
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, file := range sortedKeys(files) {
			for _, call := range files[file].calls {
				if by := replaced[call.name]; call.remote || by != "" && by != file {
					continue
				}
				target, err := s.call(ctx, here, path.Join(here, file), slices.Contains(twins, file), call)
				if err != nil {
					return err
				}
				if target != "" && !s.modules[target] && target != dir {
					if len(s.modules) >= s.c.options.Modules {
						return fail(ErrTooLarge,
							"the code in %s calls more than %d local modules, which is the limit: "+
								"split the root module into several, with a Stack for each", shown(dir),
							s.c.options.Modules)
					}
					s.module(target)
					queue = append(queue, target)
				}
			}
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

// call adds the target of a call, and returns its directory if it has code to follow.
func (s *search) call(ctx context.Context, dir, file string, twin bool, c call) (string, error) {
	at := fmt.Sprintf("%s:%d: module %.100q", file, c.line, c.name)
	if c.source == "" {
		s.open = append(s.open, at)
		return "", nil
	}
	p, err := s.local(ctx, dir, c.source, at)
	if err != nil || p.Kind == 0 {
		if (twin || s.lenient) && errors.Is(err, ErrModule) {
			return "", nil // an engine that does not read this file may run the code
		}
		return "", err
	}
	s.include(p.Entry)
	if p.Kind != git.KindDir {
		return "", nil
	}
	return p.Path, nil
}

// local resolves the path of a directory, or of a submodule, in code of the directory dir. at is the position in the
// code, for messages.
func (s *search) local(ctx context.Context, dir, source, at string) (place, error) {
	name := path.Join(dir, source)
	if outside(name) {
		return place{}, fail(ErrModule, "%s has the source %.200q, which is outside of the repository: correct "+
			"the path, or use the URL of a repository", at, source)
	}
	p, err := s.resolve(ctx, name)
	switch {
	case err != nil:
		return place{}, err
	case p.outside:
		return place{}, fail(ErrModule, "%s has the source %.200q, which is a symlink to a path outside of the "+
			"repository: replace the symlink with a directory", at, source)
	case p.Kind != git.KindDir && p.Kind != git.KindSubmodule:
		return place{}, fail(ErrModule, "%s has the source %.200q, but the repository has no directory %.200q; "+
			"the nearest one that exists is %s: correct the source, or commit the directory", at, source, name,
			shown(p.nearest))
	}
	return p, nil
}

// eachFile calls f for each file of code in a directory. OpenTofu reads x.tofu in place of x.tf, Terraform reads only
// the latter: both are read here, and twin is true for a file of such a pair.
func (s *search) eachFile(ctx context.Context, dir string, f func(file string, twin bool, c code) error) error {
	entries, _ := s.tree.Dir(dir)
	for _, e := range entries {
		base, kind := engine.CodeFile(e.Name())
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

// readFile reads a file of code, or the target of a symlink. An entry that is not a file has no code.
func (s *search) readFile(ctx context.Context, e git.Entry, json bool) (code, error) {
	file := e
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
	c, err := cached(s.c, e.ID, fmt.Sprint("code, json ", json), func() (c code, _ int, err error) {
		err = s.parse(ctx, e, func(text []byte) (err error) {
			c, err = readCode(text, json)
			return err
		})
		return c, c.weight(), err
	})
	if err != nil {
		return code{}, err
	}
	return c, s.count(file, c.size)
}

// hasCode reports whether a directory has a file that an engine reads as code.
func hasCode(tree Tree, dir string) bool {
	entries, _ := tree.Dir(dir)
	for _, e := range entries {
		if _, kind := engine.CodeFile(e.Name()); kind != "" && e.Kind != git.KindDir &&
			!strings.HasPrefix(e.Name(), ".") {
			return true
		}
	}
	return false
}

// other is the extension of a file's twin.
func other(kind string) string {
	if isTofu(kind) {
		return strings.Replace(kind, ".tofu", ".tf", 1)
	}
	return strings.Replace(kind, ".tf", ".tofu", 1)
}

func isTofu(kind string) bool { return strings.HasPrefix(kind, ".tofu") }
