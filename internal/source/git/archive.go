package git

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/source/git/links"
)

const (
	// mostPath is how long the path of a file in an archive may be. Linux takes 4,096 bytes, with the directory of the
	// code.
	mostPath = 3800
	// mostLink is how long the target of a symlink may be.
	mostLink = 4 << 10
)

// Archive packs files of a tree into w, as tar.gz; a directory includes all of its content. The same entries
// always result in the same bytes: they are in the order of their paths, of mode 0644 or 0755, without times and
// owners. A symlink that stays within the archive is kept as one, even if it leads to nothing; any other is
// ErrContent. What the runner would reject is rejected here, where the status of the Stack shows why.
//
// Submodules and LFS files are fetched when the Options want them, from the remote of the last Fetch. After an
// error w has a part of an archive, which is of no use.
func (m *Mirror) Archive(ctx context.Context, tree *Tree, files []Entry, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	g := &gathering{m: m, items: map[string]item{}}
	if err := g.gather(ctx, tree, files); err != nil {
		return err
	}
	if m.o.LFS {
		if err := g.fetchPointers(ctx); err != nil {
			return err
		}
	}
	zip := gzip.NewWriter(w)
	p := &packer{m: m, tar: tar.NewWriter(zip), left: m.o.MaxBytes}
	for _, name := range g.names() {
		if err := p.pack(ctx, g.items[name]); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	if err := p.tar.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// item is a file or a symlink of an archive.
type item struct {
	path string
	kind Kind
	id   string
	// from has the object, and remote is where it came from.
	from   *Mirror
	remote *Remote
	// target of a symlink.
	target string
	// pointer is what the file is in git when its content is in LFS.
	pointer *pointer
}

type packer struct {
	m    *Mirror
	tar  *tar.Writer
	left int64
}

func (p *packer) pack(ctx context.Context, i item) error {
	switch {
	case i.kind == KindSymlink:
		return p.tar.WriteHeader(&tar.Header{
			Typeflag: tar.TypeSymlink, Name: i.path, Linkname: i.target, Mode: 0o777, Format: tar.FormatPAX,
		})
	case i.pointer != nil:
		content, err := os.Open(p.m.objectPath(i.pointer.oid))
		if err != nil {
			return err
		}
		return errors.Join(p.file(i, i.pointer.size, content), content.Close())
	}
	return i.from.readers.stream(ctx, i.id, "blob", func(_ string, size int64, content io.Reader) error {
		return p.file(i, size, content)
	})
}

func (p *packer) file(i item, size int64, content io.Reader) error {
	if p.left -= size; p.left < 0 {
		return fail(ErrTooLarge, "more than %d bytes of files: take fewer", p.m.o.MaxBytes)
	}
	mode := int64(0o644)
	if i.kind == KindExec {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: i.path, Mode: mode, Size: size, Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.CopyN(p.tar, content, size)
	return err
}

// checkPath rejects a path that the runner rejects.
func checkPath(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) || len(name) > mostPath {
		return fail(ErrContent, "%.200q cannot be a path in an archive: UTF-8, at most %d bytes, without . and ..",
			name, mostPath)
	}
	return nil
}

func (g *gathering) names() []string { return slices.Sorted(maps.Keys(g.items)) }

// gathering finds all files of an archive, submodules included.
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
			return fail(ErrContent, "%s is a symlink to %.200q, which is outside of the repository: remove it, "+
				"or exclude it from the code", i.path, i.target)
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

// checkLink rejects a symlink that leads out of the archive, which the runner rejects.
func (g *gathering) checkLink(name string) error {
	out, err := links.LeadsOut(name, func(at string) (links.Entry, error) {
		i := g.items[at]
		return links.Entry{Dir: g.dirs[at], Link: i.kind == KindSymlink, Target: i.target}, nil
	})
	if err == nil && out {
		err = fail(ErrContent, "%s is a symlink that leads out of the repository: remove it, or exclude it "+
			"from the code", name)
	}
	return err
}
