package closure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/source/git"
)

// Engine returns the engine versions that code outside of a repository requires. The files are by path, with the root
// module at the top. Code with errors requires nothing: the engine reports them. The error is an ErrTooLarge.
func (c *Closures) Engine(ctx context.Context, files map[string][]byte, terragrunt bool) (Engine, error) {
	tree := newFileTree(files)
	s := newSearch(c, tree, tree)
	s.lenient = true
	root, _ := tree.Entry("")
	read := s.require
	if terragrunt {
		read = func(ctx context.Context, _ string) error { return s.terragrunt(ctx, root) }
	}
	s.budget.left = s.c.options.Work
	if err := read(ctx, root.Path); errors.Is(err, ErrTooLarge) {
		return Engine{}, err
	}
	s.budget.left = s.c.options.Work
	_ = s.versionFiles(ctx, root, Wanted{Terragrunt: terragrunt})
	return s.engine, nil
}

// fileTree is a Tree, and its Blobs, of files in memory.
type fileTree struct {
	// id is a hash of all names and all content: caches use the ID of a directory as a key.
	id      string
	entries map[string]git.Entry
	dirs    map[string][]git.Entry
	blobs   map[string][]byte
}

func newFileTree(files map[string][]byte) *fileTree {
	t := &fileTree{entries: map[string]git.Entry{}, dirs: map[string][]git.Entry{}, blobs: map[string][]byte{}}
	all := sha256.New()
	for _, name := range sortedKeys(files) {
		sum := sha256.Sum256(files[name])
		t.blobs[hex.EncodeToString(sum[:])] = files[name]
		fmt.Fprintf(all, "%q %x\n", name, sum)
	}
	t.id = hex.EncodeToString(all.Sum(nil))
	t.entries[""] = git.Entry{Kind: git.KindDir, ID: t.id}
	for name, text := range files {
		if name, ok := CleanPath(name); ok && name != "" {
			t.add(git.Entry{Path: name, Kind: git.KindFile, ID: fmt.Sprintf("%x", sha256.Sum256(text))})
		}
	}
	for _, dir := range t.dirs {
		slices.SortFunc(dir, func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) })
	}
	return t
}

// add adds an entry and the directories above it.
func (t *fileTree) add(e git.Entry) {
	for {
		if _, ok := t.entries[e.Path]; ok {
			return
		}
		t.entries[e.Path] = e
		parent := parentOf(e.Path)
		t.dirs[parent] = append(t.dirs[parent], e)
		e = git.Entry{Path: parent, Kind: git.KindDir, ID: t.id + "/" + parent}
	}
}

// Entry returns the entry at a path.
func (t *fileTree) Entry(name string) (git.Entry, bool) {
	e, ok := t.entries[name]
	return e, ok
}

// Dir lists a directory in the order of the names.
func (t *fileTree) Dir(name string) ([]git.Entry, bool) {
	return t.dirs[name], t.entries[name].Kind == git.KindDir
}

// Blob reads a file.
func (t *fileTree) Blob(_ context.Context, id string, limit int64) ([]byte, error) {
	text := t.blobs[id]
	if size := int64(len(text)); size > limit {
		return nil, &git.SizeError{ID: id, Size: size, Limit: limit}
	}
	return text, nil
}
