package git

import (
	"errors"
	"strings"
	"testing"
)

// A handful of objects in git can name more files than there is memory for.
func TestNumberOfFilesOfACommitIsLimited(t *testing.T) {
	t.Parallel()
	listing := []byte(line("040000", "tree", "1", "a") + line("100644", "blob", "2", "a/a") + line("100644", "blob",
		"2", "a/b"))
	if _, err := parseTree("root", listing, 3); err != nil {
		t.Error(err)
	}
	_, err := parseTree("root", listing, 2)
	if !errors.Is(err, ErrTooLarge) || Reason(err) != "SourceTooLarge" {
		t.Errorf("got %v", err)
	}
}

// The paths of a commit are as long as its author likes.
func TestListingOfACommitIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{strings.Repeat("a", 200) + "/main.tf": "a"})
	f.fetch()
	args := []string{"ls-tree", "-r", "-t", "-z", "--full-tree", "HEAD"}
	if _, err := f.m.run(f.Context(), command{args: args, most: 1000}); err != nil {
		t.Error(err)
	}
	_, err := f.m.run(f.Context(), command{args: args, most: 200})
	fails(t, err, ErrTooLarge, "git ls-tree prints more than")
}

// Who writes a repository says how large its trees are, and there may be many repositories.
func TestMemoryOfTreesIsLimited(t *testing.T) {
	t.Parallel()
	trees := NewTrees(20_000)
	f := newFixture(t, Options{Trees: trees})
	other := mirror(t, t.TempDir(), Options{Trees: trees})
	var ids []string
	for _, content := range []string{"a", "b", "c"} {
		ids = append(ids, f.commit(map[string]string{strings.Repeat(content, 200) + "/main.tf": content}))
	}
	f.fetch()
	f.must(other.Fetch(f.Context(), f.remote(), FetchOptions{}))
	var listed []*Tree
	for _, m := range []*Mirror{f.m, other} {
		for range 2 {
			for _, id := range ids {
				tree, err := m.Tree(f.Context(), id)
				f.must(err)
				listed = append(listed, tree)
			}
		}
	}
	if listed[0] != listed[3] {
		t.Error("a tree that fits the memory limit is listed again")
	}
	if listed[0] == listed[6] {
		t.Error("what one mirror has is shown to who reads another")
	}

	small := NewTrees(4_000)
	f.m.o.Trees, other.o.Trees = small, small
	for _, m := range []*Mirror{f.m, other} {
		_, err := m.Tree(f.Context(), ids[2])
		f.must(err)
	}
	root := listed[2].ID
	_, first := small.kept.Get(treeKey{f.m.number, root})
	_, last := small.kept.Get(treeKey{other.number, root})
	if first || !last {
		t.Errorf("of two trees with memory for one, the first is kept: %t, the last: %t", first, last)
	}
}
