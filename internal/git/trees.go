package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"cairn.dev/cairn/internal/weightedlru"
)

const (
	// mostTrees is how much memory the trees of all Mirrors take that share them, in bytes. The largest that there may be fits in: one
	// that is not kept is listed anew for each Stack.
	mostTrees = 320 << 20
	// mostRoots is how many commits a Mirror remembers the tree of.
	mostRoots = 1000
)

// Trees keeps the trees that were listed last, up to how much memory they take in all: who writes a repository says how large each of
// them is.
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

// NewTrees keeps trees of so many bytes; 0 is 320 MiB.
func NewTrees(most int) *Trees {
	return &Trees{kept: weightedlru.New[treeKey, *Tree](cmp.Or(most, mostTrees), weightedlru.EntryOverhead)}
}

// Tree lists all that is in a commit or a tree, given by its ID. It is kept in memory with the last few, for it never
// changes. ErrNoRef when there is no such thing, ErrEmpty when nothing was fetched yet.
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
		listing, err := m.run(ctx, command{args: []string{"ls-tree", "-r", "-t", "-z", "--full-tree", root}})
		if err != nil {
			// That it is too large, or took too long, is no fault of the mirror.
			if failed := (*gitError)(nil); errors.As(err, &failed) {
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

// rootOf gives the tree of a commit. Of a tree it is the tree.
func (m *Mirror) rootOf(ctx context.Context, id string) (string, error) {
	object, err := m.readers.read(ctx, id+"^{commit}", "commit", mostCommit)
	if isMissing(err) { // a tree, or nothing: git says so
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
