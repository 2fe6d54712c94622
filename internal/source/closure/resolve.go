package closure

import (
	"context"
	"path"
	"strings"

	"cairn.dev/cairn/internal/source/git"
)

const (
	// mostLinks is how many symlinks are followed for one path, as on Linux.
	mostLinks = 40
	// longestTarget is the most bytes of a symlink, as on Linux.
	longestTarget = 4096
)

// place is the result of resolving a path.
type place struct {
	// Entry is the target, never a symlink. It has no kind if the target does not exist. For a path in a submodule it
	// is the submodule.
	git.Entry
	// nearest is the last directory on the path that exists.
	nearest string
	// outside is true if a symlink leads out of the repository.
	outside bool
}

// resolve follows a path as a kernel does: part by part, through symlinks. It adds the symlinks to the closure, as the
// target depends on them.
func (s *search) resolve(ctx context.Context, name string) (place, error) {
	here, _ := s.tree.Entry("")
	links := 0
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if err := s.budget.spend(1 + len(part) + len(here.Path)); err != nil {
			return place{}, err
		}
		switch {
		case part == "" || part == ".":
			continue
		case here.Kind != git.KindDir:
			return place{nearest: parentOf(here.Path)}, nil
		case part == ".." && here.Path == "":
			return place{outside: true}, nil
		case part == "..":
			here, _ = s.tree.Entry(parentOf(here.Path))
			continue
		}
		next, ok := s.entry(path.Join(here.Path, part))
		switch {
		case !ok:
			return place{nearest: here.Path}, nil
		case next.Kind == git.KindSubmodule:
			return place{Entry: next, nearest: here.Path}, nil
		case next.Kind != git.KindSymlink:
			here = next
			continue
		}
		s.add(next)
		target, err := s.target(ctx, next)
		if err != nil {
			return place{}, err
		}
		links++
		switch {
		case strings.HasPrefix(target, "/"):
			return place{outside: true, nearest: here.Path}, nil
		case links > mostLinks || target == "":
			return place{nearest: here.Path}, nil
		}
		if err := s.budget.spend(len(target) + len(rest)); err != nil {
			return place{}, err
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if here.Kind != git.KindDir {
		return place{Entry: here, nearest: parentOf(here.Path)}, nil
	}
	return place{Entry: here, nearest: here.Path}, nil
}

// entry returns the entry at a path, and records it as a fact: of a directory only its kind, as its content was not
// read.
func (s *search) entry(name string) (git.Entry, bool) {
	e, ok := s.tree.Entry(name)
	fact := e
	fact.Path = name
	if e.Kind == git.KindDir {
		fact.ID = ""
	}
	if s.facts[name].ID == "" { // otherwise the content was read too
		s.facts[name] = fact
	}
	return e, ok
}

// target reads the target of a symlink.
func (s *search) target(ctx context.Context, link git.Entry) (string, error) {
	return cached(s.c, link.ID, "target", func() (string, int, error) {
		data, err := s.read(ctx, link, longestTarget)
		return string(data), len(data), err
	})
}

// linksIn lists the symlinks below a directory.
func (c *Closures) linksIn(tree Tree, dir git.Entry) []string {
	names, ok := c.links.Get(dir.ID)
	if !ok {
		walk(tree, dir.Path, -1, func(e git.Entry) {
			if e.Kind == git.KindSymlink {
				names = append(names, below(dir.Path, e.Path))
			}
		})
		c.links.Add(dir.ID, names, textsWeight(names))
	}
	var links []string
	for _, name := range names {
		links = append(links, path.Join(dir.Path, name))
	}
	return links
}
