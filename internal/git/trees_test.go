package git

import (
	"errors"
	"strings"
	"testing"
)

// A handful of objects in git can name more files than there is memory for.
func TestACommitHasNoMoreFilesThanThereMayBe(t *testing.T) {
	t.Parallel()
	listing := []byte(line("040000", "tree", "1", "a") + line("100644", "blob", "2", "a/a") + line("100644", "blob", "2", "a/b"))
	if _, err := parseTree("root", listing, 3); err != nil {
		t.Error(err)
	}
	_, err := parseTree("root", listing, 2)
	if !errors.Is(err, ErrTooLarge) || Reason(err) != "SourceTooLarge" {
		t.Errorf("got %v", err)
	}
}

// The paths of a commit are as long as its author likes.
func TestTheListingOfACommitIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{strings.Repeat("a", 200) + "/main.tf": "a"})
	w.fetch()
	args := []string{"ls-tree", "-r", "-t", "-z", "--full-tree", "HEAD"}
	if _, err := w.m.run(w.Context(), command{args: args, most: 1000}); err != nil {
		t.Error(err)
	}
	_, err := w.m.run(w.Context(), command{args: args, most: 200})
	fails(t, err, ErrTooLarge, "git ls-tree prints more than")
}

// Who writes a repository says how large its trees are, and there may be many repositories.
func TestTreesTakeSoMuchMemoryInAll(t *testing.T) {
	t.Parallel()
	trees := NewTrees(20_000)
	w := newWorld(t, Options{Trees: trees})
	other := mirror(t, t.TempDir(), Options{Trees: trees})
	var ids []string
	for _, content := range []string{"a", "b", "c"} {
		ids = append(ids, w.commit(map[string]string{strings.Repeat(content, 200) + "/main.tf": content}))
	}
	w.fetch()
	w.must(other.Fetch(w.Context(), w.remote(), FetchOptions{}))
	var listed []*Tree
	for _, m := range []*Mirror{w.m, other} {
		for range 2 {
			for _, id := range ids {
				tree, err := m.Tree(w.Context(), id)
				w.must(err)
				listed = append(listed, tree)
			}
		}
	}
	if listed[0] != listed[3] {
		t.Error("a tree for which there is room is listed again")
	}
	if listed[0] == listed[6] {
		t.Error("what one mirror has is shown to who reads another")
	}

	small := NewTrees(4_000)
	w.m.o.Trees, other.o.Trees = small, small
	for _, m := range []*Mirror{w.m, other} {
		_, err := m.Tree(w.Context(), ids[2])
		w.must(err)
	}
	root := listed[2].ID
	_, first := small.kept.Get(treeKey{w.m.number, root})
	_, last := small.kept.Get(treeKey{other.number, root})
	if first || !last {
		t.Errorf("of two trees where there is room for one, the first is kept: %t, the last: %t", first, last)
	}
}
