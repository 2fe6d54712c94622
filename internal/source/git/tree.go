package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"cairn.dev/cairn/internal/base/weightedlru"
)

// Kind of an entry, by its mode.
type Kind byte

// What an entry is.
const (
	KindDir       Kind = 'd'
	KindFile      Kind = 'f'
	KindExec      Kind = 'x' // a file that may be executed
	KindSymlink   Kind = 'l'
	KindSubmodule Kind = 's' // its ID is a commit of another repository
)

// Entry is a file or a directory of a tree. Two entries of one ID and kind have the same content, whatever their names.
type Entry struct {
	// Path from the root of the repository, with slashes. The root itself is "".
	Path string
	Kind Kind
	// ID of the object: of a blob, a tree or, for a submodule, a commit.
	ID string
}

// Name is the last part of the path.
func (e Entry) Name() string { return path.Base(e.Path) }

// mostEntries is how many files and directories a commit may have. A few objects in git can name many more: a
// directory that has another one ten times, which has a third one ten times.
const mostEntries = 250_000

// mostListing is how many bytes git may print of a commit: paths of 200 bytes on average.
const mostListing = 64 << 20

// Tree is the whole content of a repository at one commit: names and IDs, no bytes. It never changes.
type Tree struct {
	// ID of the root.
	ID      string
	entries map[string]Entry
	// dirs has the entries of each directory, by name.
	dirs map[string][]Entry
	// weight is how much memory it takes, about.
	weight int
}

// entryWeight is what an entry of a Tree takes beside the line that git listed.
const entryWeight = 160

// ParseTree reads what `git ls-tree -r -t -z --full-tree` prints of the tree id. ErrTooLarge when it has more than
// 250,000 entries.
func ParseTree(id string, listing []byte) (*Tree, error) {
	return parseTree(id, listing, mostEntries)
}

func parseTree(id string, listing []byte, most int) (*Tree, error) {
	t := &Tree{ID: id, entries: map[string]Entry{}, dirs: map[string][]Entry{"": nil}}
	t.entries[""] = Entry{Kind: KindDir, ID: id}
	for line := range bytes.SplitSeq(listing, []byte{0}) {
		if len(line) == 0 {
			continue
		}
		e, err := parseEntry(string(line))
		if err != nil {
			return nil, err
		}
		if t.entries[e.Path] = e; t.Len() > most {
			return nil, fail(ErrTooLarge, "the commit has more than %d files and directories, which is the limit: "+
				"use a smaller repository", most)
		}
		t.weight += entryWeight + len(line)
		parent := path.Dir(e.Path)
		if parent == "." {
			parent = ""
		}
		t.dirs[parent] = append(t.dirs[parent], e)
		if e.Kind == KindDir && t.dirs[e.Path] == nil {
			t.dirs[e.Path] = nil
		}
	}
	for _, dir := range t.dirs {
		slices.SortFunc(dir, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	}
	return t, nil
}

// parseEntry reads "100644 blob <id>\t<path>".
func parseEntry(line string) (Entry, error) {
	meta, name, ok := strings.Cut(line, "\t")
	fields := strings.Fields(meta)
	if !ok || len(fields) != 3 || name == "" {
		return Entry{}, fmt.Errorf("git listed %.200q, which is no entry of a tree", line)
	}
	e := Entry{Path: name, ID: fields[2]}
	switch fields[0] {
	case "040000":
		e.Kind = KindDir
	case "120000":
		e.Kind = KindSymlink
	case "160000":
		e.Kind = KindSubmodule
	case "100755":
		e.Kind = KindExec
	default: // 100644, and 100664 of old
		e.Kind = KindFile
	}
	return e, nil
}

// Entry returns what is at a path; "" is the root.
func (t *Tree) Entry(name string) (Entry, bool) {
	e, ok := t.entries[name]
	return e, ok
}

// Dir lists a directory by name, without what is in its directories; "" is the root. It must not be changed.
func (t *Tree) Dir(name string) ([]Entry, bool) {
	entries, ok := t.dirs[name]
	return entries, ok
}

// Walk calls f for each entry below a directory, in the order of their paths, directories before what is in them.
func (t *Tree) Walk(dir string, f func(Entry)) {
	for _, e := range t.dirs[dir] {
		f(e)
		if e.Kind == KindDir {
			t.Walk(e.Path, f)
		}
	}
}

// Len is how many entries there are.
func (t *Tree) Len() int { return len(t.entries) - 1 }

const (
	// mostTrees is how much memory the trees of all Mirrors take that share them, in bytes. The largest possible
	// tree fits in: one that is not kept is listed again for each Stack.
	mostTrees = 128 << 20
	// mostRoots is how many commits a Mirror remembers the tree of.
	mostRoots = 1000
)

// Trees keeps the trees that were listed last, up to how much memory they take in all: the authors of a repository
// decide how large each of them is.
type Trees struct {
	// opened is how many Mirrors share it, or did.
	opened atomic.Int64
	kept   *weightedlru.Cache[treeKey, *Tree]
}

// treeKey is a tree of one Mirror: what one has is not shown to who reads another.
type treeKey struct {
	mirror int64
	root   string
}

// NewTrees keeps trees of so many bytes; 0 is 128 MiB.
func NewTrees(most int) *Trees {
	return &Trees{kept: weightedlru.New[treeKey, *Tree](cmp.Or(most, mostTrees), weightedlru.EntryOverhead)}
}

// Tree lists all that is in a commit or a tree, by its ID. It is kept in memory with the last few, for it never
// changes. ErrNoRef when there is none, ErrEmpty when nothing was fetched yet.
func (m *Mirror) Tree(ctx context.Context, id string) (*Tree, error) {
	if !isID(id) {
		return nil, fail(ErrNoRef, "%.100q is not the full ID of a commit or a tree", id)
	}
	if m.Empty() {
		return nil, errEmpty
	}
	m.listing.Lock()
	defer m.listing.Unlock()
	root, err := m.knownRoot(ctx, id)
	if err != nil {
		return nil, err
	}
	t, ok := m.o.Trees.kept.Get(treeKey{m.number, root})
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
		defer cancel()
		listing, err := m.run(ctx, command{args: []string{"ls-tree", "-r", "-t", "-z", "--full-tree", root},
			most: mostListing})
		if err != nil {
			// That it is too large, or took too long, is no fault of the mirror.
			if _, failed := errors.AsType[*gitError](err); failed {
				m.suspect.Store(true)
			}
			return nil, explain("list "+id, err)
		}
		if t, err = ParseTree(root, listing); err != nil {
			return nil, explain("list "+id, err)
		}
		m.o.Trees.kept.Add(treeKey{m.number, root}, t, t.weight)
	}
	return t, nil
}

// knownRoot is rootOf, which is asked once.
func (m *Mirror) knownRoot(ctx context.Context, id string) (string, error) {
	if root, ok := m.roots.Get(id); ok {
		return root, nil
	}
	root, err := m.rootOf(ctx, id)
	if err == nil {
		m.roots.Add(id, root)
	}
	return root, err
}

// rootOf returns the tree of a commit. Of a tree it is the tree.
func (m *Mirror) rootOf(ctx context.Context, id string) (string, error) {
	object, err := m.readers.read(ctx, id+"^{commit}", "commit", mostCommit)
	if isMissing(err) { // a tree, or nothing: git reports which
		return m.treeOf(ctx, id)
	}
	if err != nil {
		return "", err
	}
	commit, err := parseCommit(object.data)
	return commit.Tree, err
}

func (m *Mirror) treeOf(ctx context.Context, id string) (string, error) {
	err := m.readers.stream(ctx, id, "tree", func(string, int64, io.Reader) error { return nil })
	if isMissing(err) {
		return "", fail(ErrNoRef, "there is no commit or tree %s", id)
	}
	return id, err
}
