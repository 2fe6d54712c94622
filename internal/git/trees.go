package git

import (
	"context"
	"io"
)

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
	if t, ok := m.listed.Get(id); ok {
		return t, nil
	}
	root, err := m.rootOf(ctx, id)
	if err != nil {
		return nil, err
	}
	t, ok := m.listed.Get(root)
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
		defer cancel()
		listing, err := m.run(ctx, command{args: []string{"ls-tree", "-r", "-t", "-z", "--full-tree", root}})
		if err != nil {
			m.suspect.Store(true)
			return nil, explain("list "+id, err)
		}
		if t, err = ParseTree(root, listing); err != nil {
			return nil, err
		}
		m.listed.Add(root, t)
	}
	m.listed.Add(id, t)
	return t, nil
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
