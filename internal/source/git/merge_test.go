package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

// merging is a fixture with a base and a head.
type merging struct {
	*fixture
	base, head string
}

// newMerging commits files to main, and then others to each of the branches main and change. An empty content deletes a
// file.
func newMerging(t *testing.T, common, base, head map[string]string) merging {
	t.Helper()
	f := newFixture(t, Options{})
	commit := func(c gitserver.Change) string {
		id, err := f.repo.Commit(c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	common["README.md"] = "x\n"
	m := merging{fixture: f, base: commit(gitserver.Change{Files: common})}
	if _, err := f.repo.Git("branch", "change", "main"); err != nil {
		t.Fatal(err)
	}
	m.head = commit(gitserver.Change{Branch: "change", Files: head})
	if base != nil {
		m.base = commit(gitserver.Change{Files: base})
	}
	if err := f.m.Fetch(t.Context(), Remote{URL: f.http.URL + f.repo.Path()}, FetchOptions{}); err != nil {
		t.Fatal(err)
	}
	return m
}

// gitea #13134: a provider has no ref of the merge result, or creates it late. Cairn merges by itself.
func TestMergeHasTheContentOfBoth(t *testing.T) {
	f := newMerging(t, map[string]string{"net/main.tf": "a\nb\nc\nd\ne\n", "old/main.tf": "old\n",
		"lib/a.tf": "1\n2\n3\n4\n5\n6\n"},
		map[string]string{"net/main.tf": "A\nb\nc\nd\ne\n", "prod/main.tf": "prod\n",
			"lib/a.tf": "1\n2\n3\n4\n5\nsix\n"},
		map[string]string{"net/main.tf": "a\nb\nc\nd\nE\n", "mod/a.tf": "1\n2\n3\n4\n5\n6\n", "old/main.tf": "",
			"lib/a.tf": ""})
	before, err := os.ReadDir(filepath.Join(f.m.dir, repository, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	merge, err := f.m.Merge(t.Context(), f.base, f.head)
	if err != nil || len(merge.Conflicts) > 0 {
		t.Fatal(merge, err)
	}
	tree, err := merge.Content().Tree(t.Context(), merge.TreeID)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	tree.Walk("", func(e Entry) {
		if e.Kind != KindFile {
			return
		}
		content, err := merge.Content().Blob(t.Context(), e.ID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		got[e.Path] = string(content)
	})
	want := map[string]string{
		"README.md": "x\n", "net/main.tf": "A\nb\nc\nd\nE\n", "prod/main.tf": "prod\n",
		"mod/a.tf": "1\n2\n3\n4\n5\nsix\n",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var archive bytes.Buffer
	entry, _ := tree.Entry("net")
	if err := merge.Content().Archive(t.Context(), tree, []Entry{entry}, &archive); err != nil || archive.Len() == 0 {
		t.Error(err)
	}
	folder := merge.view.objects
	if err := merge.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the objects of the merge stay: %v", err)
	}
	after, err := os.ReadDir(filepath.Join(f.m.dir, repository, "objects"))
	if err != nil || len(after) != len(before) {
		t.Errorf("the mirror has %d folders of objects, after %d: %v", len(after), len(before), err)
	}
	if _, err := f.m.Tree(t.Context(), merge.TreeID); !errors.Is(err, ErrNoRef) {
		t.Errorf("the mirror has the merged tree: %v", err)
	}
}

func TestMergeOfADescendantIsItsTree(t *testing.T) {
	f := newMerging(t, map[string]string{"main.tf": "a\n"}, nil, map[string]string{"main.tf": "b\n"})
	for _, pair := range [][2]string{{f.base, f.head}, {f.head, f.base}} {
		merge, err := f.m.Merge(t.Context(), pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		head, err := f.m.Tree(t.Context(), f.head)
		if err != nil || merge.TreeID != head.ID {
			t.Errorf("the merged tree is %s, and that of the descendant %v: %v", merge.TreeID, head, err)
		}
		if err := merge.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A commit has those of its history and itself, in one direction. What the mirror does not have is not known.
func TestContainsTheCommitsOfTheHistory(t *testing.T) {
	f := newMerging(t, map[string]string{"a": "1\n"}, map[string]string{"b": "2\n"}, map[string]string{"a": "3\n"})
	fork, err := f.repo.Git("merge-base", "main", "change")
	if err != nil {
		t.Fatal(err)
	}
	fork = strings.TrimSpace(fork)
	for _, tt := range []struct {
		commit, other string
		want          bool
	}{{f.base, fork, true}, {f.head, fork, true}, {f.base, f.base, true}, {fork, f.base, false},
		{f.base, f.head, false}} {
		if got, err := f.m.Contains(t.Context(), tt.commit, tt.other); err != nil || got != tt.want {
			t.Errorf("%s contains %s: %t, %v", tt.commit, tt.other, got, err)
		}
	}
	unknown := strings.Repeat("1", 40)
	for _, pair := range [][2]string{{f.base, unknown}, {unknown, f.base}} {
		if _, err := f.m.Contains(t.Context(), pair[0], pair[1]); !errors.Is(err, ErrNoRef) {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

func TestConflictsOfAMerge(t *testing.T) {
	common, base, head := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range 150 {
		name := fmt.Sprintf("d/%03d \n\t.tf", i)
		common[name], base[name], head[name] = "a\n", "b\n", "c\n"
	}
	f := newMerging(t, common, base, head)
	merge, err := f.m.Merge(t.Context(), f.base, f.head)
	if err != nil {
		t.Fatal(err)
	}
	defer merge.Close()
	if merge.TreeID != "" || len(merge.Conflicts) != 100 || merge.Conflicts[0] != "d/000 \n\t.tf" {
		t.Errorf("%q, %d conflicts, the first %q", merge.TreeID, len(merge.Conflicts), merge.Conflicts[0])
	}
}

func TestMergeNeedsBothCommits(t *testing.T) {
	f := newMerging(t, map[string]string{"main.tf": "a\n"}, nil, map[string]string{"main.tf": "b\n"})
	unrelated, err := f.repo.Commit(gitserver.Change{Branch: "unrelated", Rewrite: true,
		Files: map[string]string{"main.tf": "b\n"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.m.Fetch(t.Context(), Remote{URL: f.http.URL + f.repo.Path()}, FetchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{f.base, strings.Repeat("0", 40)}, {strings.Repeat("1", 40), f.head},
		{"main", f.head}, {f.base, "--help"}, {f.base, unrelated}} {
		if merge, err := f.m.Merge(t.Context(), pair[0], pair[1]); !errors.Is(err, ErrNoRef) {
			t.Errorf("%q: %v, %v", pair, merge, err)
		}
	}
}

// The attributes of a repository can name a driver, but no program: git takes that from its own configuration alone.
func TestMergeRunsNoDriverOfTheRepository(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	attributes := "*.tf merge=evil filter=evil diff=evil\n"
	f := newMerging(t, map[string]string{"main.tf": "a\nb\nc\n", ".gitattributes": attributes,
		".gitconfig": "[merge \"evil\"]\n\tdriver = touch " + mark + "\n"},
		map[string]string{"main.tf": "A\nb\nc\n"}, map[string]string{"main.tf": "a\nb\nC\n"})
	merge, err := f.m.Merge(t.Context(), f.base, f.head)
	if err != nil || merge.TreeID == "" {
		t.Fatal(merge, err)
	}
	if err := merge.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository ran")
	}
}
