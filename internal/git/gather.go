package git

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// gathering finds all that an archive is made of, submodules included.
type gathering struct {
	m     *Mirror
	items map[string]item
	dirs  map[string]bool
	// submodules is how many were entered.
	submodules int
}

// place is a tree and where it is: that of the repository, or of a submodule.
type place struct {
	m      *Mirror
	tree   *Tree
	remote *Remote // nil when the mirror was not fetched since it was opened
	prefix string
	depth  int
}

func (g *gathering) gather(ctx context.Context, tree *Tree, files []Entry) error {
	root := place{m: g.m, tree: tree, remote: g.m.lastRemote()}
	for _, e := range files {
		if err := g.add(ctx, root, e); err != nil {
			return err
		}
	}
	g.dirs = map[string]bool{}
	for name := range g.items {
		for dir := path.Dir(name); dir != "." && !g.dirs[dir]; dir = path.Dir(dir) {
			g.dirs[dir] = true
		}
	}
	for _, name := range g.names() {
		if g.items[name].kind == KindSymlink {
			if err := g.checkLink(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// add an entry, and all that is in it.
func (g *gathering) add(ctx context.Context, p place, e Entry) error {
	switch e.Kind {
	case KindDir:
		entries, _ := p.tree.Dir(e.Path)
		for _, e := range entries {
			if err := g.add(ctx, p, e); err != nil {
				return err
			}
		}
		return nil
	case KindSubmodule:
		return g.enter(ctx, p, e)
	}
	i := item{path: path.Join(p.prefix, e.Path), kind: e.Kind, id: e.ID, from: p.m, remote: p.remote}
	if err := checkPath(i.path); err != nil {
		return err
	}
	if e.Kind == KindSymlink {
		target, err := p.m.Blob(ctx, e.ID, mostLink)
		if err != nil {
			return fmt.Errorf("archive %s: %w", i.path, err)
		}
		if i.target = string(target); path.IsAbs(i.target) || strings.ContainsRune(i.target, 0) {
			return fail(ErrContent, "%s is a symlink to %.200q, which is outside of the repository: remove it, or keep it out of the code", i.path, i.target)
		}
	}
	if g.items[i.path] = i; len(g.items) > g.m.o.MaxFiles {
		return fail(ErrTooLarge, "more than %d files: take fewer", g.m.o.MaxFiles)
	}
	return nil
}

func (m *Mirror) lastRemote() *Remote {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.origin
}
