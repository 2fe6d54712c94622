package closure

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cairn.dev/cairn/internal/source/git"
)

// repository is the content of a commit, by path. A path that ends in * may be executed; "-> x" is a symlink to x;
// "@" is a submodule.
type repository map[string]string

// with returns a copy with changes; a path with the content "" is deleted.
func (r repository) with(changes repository) repository {
	next := maps.Clone(r)
	for name, content := range changes {
		next[name] = content
		if content == "" {
			delete(next, name)
		}
	}
	return next
}

// objects are blobs by ID.
type objects struct {
	blobs map[string][]byte
	reads atomic.Int64
}

func (o *objects) Blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	o.reads.Add(1)
	data, ok := o.blobs[id]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !ok:
		return nil, fmt.Errorf("no blob %s", id)
	case int64(len(data)) > limit:
		return nil, &git.SizeError{ID: id, Size: int64(len(data)), Limit: limit}
	}
	return data, nil
}

// objectID returns the ID that git computes for an object.
func objectID(kind string, data []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...))
	return hex.EncodeToString(sum[:])
}

// commit returns the tree that git would create, and its blobs.
func (r repository) commit(t testing.TB) (*git.Tree, *objects) {
	t.Helper()
	o := &objects{blobs: map[string][]byte{}}
	dirs := map[string][]string{"": nil} // the lines of each directory
	kinds := map[string]string{}
	for name, content := range r {
		mode, kind, id := "100644", "blob", objectID("blob", []byte(content))
		name, exec := strings.CutSuffix(name, "*")
		target, link := strings.CutPrefix(content, "-> ")
		switch {
		case exec:
			mode = "100755"
		case link:
			mode, id = "120000", objectID("blob", []byte(target))
			content = target
		case content == "@":
			mode, kind = "160000", "commit"
		}
		o.blobs[id] = []byte(content)
		kinds[name] = mode + " " + kind + " " + id
		for dir := parentOf(name); ; dir = parentOf(dir) {
			if _, ok := dirs[dir]; !ok {
				dirs[dir] = nil
			}
			if dir == "" {
				break
			}
		}
	}
	for dir := range dirs {
		if dir != "" {
			kinds[dir] = "040000 tree "
		}
	}
	names := slices.Sorted(maps.Keys(kinds))
	// Deepest directories first, as the ID of a tree is a hash of those in it.
	byDepth := slices.SortedStableFunc(maps.Keys(dirs), func(a, b string) int {
		return depth(b) - depth(a)
	})
	children := map[string][]string{}
	for _, name := range names {
		children[parentOf(name)] = append(children[parentOf(name)], name)
	}
	root := ""
	for _, dir := range byDepth {
		id := treeID(children[dir], kinds)
		if dir == "" {
			root = id
		} else {
			kinds[dir] += id
		}
	}
	var listing strings.Builder
	for _, name := range names {
		fmt.Fprintf(&listing, "%s\t%s\x00", kinds[name], name)
	}
	tree, err := git.ParseTree(root, []byte(listing.String()))
	if err != nil {
		t.Fatal(err)
	}
	return tree, o
}

func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// treeID returns the ID of a directory: git sorts as if directories' names ended in a slash.
func treeID(names []string, kinds map[string]string) string {
	sorted := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return strings.Compare(a+slash(kinds[a]), b+slash(kinds[b]))
	})
	var data []byte
	for _, name := range sorted {
		fields := strings.Fields(kinds[name])
		id, _ := hex.DecodeString(fields[2])
		data = fmt.Appendf(data, "%s %s\x00%s", strings.TrimPrefix(fields[0], "0"), git.Entry{Path: name}.Name(), id)
	}
	return objectID("tree", data)
}

func slash(kind string) string {
	if strings.Contains(kind, " tree ") {
		return "/"
	}
	return ""
}

func TestRepositoriesOfTestsHaveTheIDsOfGit(t *testing.T) {
	empty, _ := repository{}.commit(t)
	if empty.ID != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("the empty tree is %s", empty.ID)
	}
	// IDs that git 2 computed: a.b and a-b sort around the directory a.
	tree, _ := repository{"a/x*": "hello\n", "a.b": "hello\n", "a-b": "-> a.b"}.commit(t)
	x, _ := tree.Entry("a/x")
	if x.ID != "ce013625030ba8dba906f756967f9e9ca394464a" || x.Kind != git.KindExec {
		t.Errorf("got %+v", x)
	}
	if tree.ID != "5a58300609e7eec8e072c50bde04966179e4363e" {
		t.Errorf("the tree is %s", tree.ID)
	}
}

// of returns the closure in a repository, with empty caches.
func of(t testing.TB, r repository, w Wanted) (Closure, error) {
	t.Helper()
	tree, blobs := r.commit(t)
	return New(Options{}).Of(t.Context(), tree, blobs, w)
}

// mustOf is of, and fails the test on an error.
func mustOf(t testing.TB, r repository, w Wanted) Closure {
	t.Helper()
	closure, err := of(t, r, w)
	if err != nil {
		t.Fatal(err)
	}
	return closure
}

// paths of a closure's files.
func (c Closure) paths() string {
	var names []string
	for _, e := range c.Files {
		names = append(names, e.Path)
	}
	return strings.Join(names, " ")
}
