package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func line(mode, kind, id, path string) string {
	return mode + " " + kind + " " + strings.Repeat(id, 40) + "\t" + path + "\x00"
}

func TestParseTree(t *testing.T) {
	tree, err := ParseTree("root", []byte(line("040000", "tree", "1", "envs")+line("040000", "tree", "2", "envs/prod")+
		line("100644", "blob", "3", "envs/prod/main.tf")+line("100755", "blob", "4", "envs/prod/run.sh")+
		line("120000", "blob", "5", "envs/link")+
		line("160000", "commit", "6", "modules")+line("100664", "blob", "7", "a\tname\nof old")+line("040000", "tree",
		"8", "empty")))
	if err != nil {
		t.Fatal(err)
	}
	var walked []string
	tree.Walk("", func(e Entry) { walked = append(walked, string(e.Kind)+" "+e.Path) })
	want := []string{"f a\tname\nof old", "d empty", "d envs", "l envs/link", "d envs/prod", "f envs/prod/main.tf",
		"x envs/prod/run.sh", "s modules"}
	if diff := cmp.Diff(want, walked); diff != "" {
		t.Error(diff)
	}
	if e, ok := tree.Entry("envs/prod/run.sh"); !ok || e.Name() != "run.sh" || e.ID != strings.Repeat("4", 40) {
		t.Errorf("got %+v, %v", e, ok)
	}
	if root, ok := tree.Entry(""); !ok || root.Kind != KindDir || root.ID != "root" {
		t.Errorf("the root is %+v, %v", root, ok)
	}
	if entries, ok := tree.Dir("empty"); !ok || len(entries) != 0 {
		t.Errorf("the empty directory has %v, %v", entries, ok)
	}
	if _, ok := tree.Dir("envs/link"); ok {
		t.Error("a symlink is a directory")
	}
	if n := tree.Len(); n != 8 {
		t.Errorf("%d entries", n)
	}
}

func TestInvalidListingIsRejected(t *testing.T) {
	for _, listing := range []string{"x", "100644 blob\tx", "100644 blob 1 2\tx", "100644 blob 1\t"} {
		if _, err := ParseTree("root", []byte(listing)); err == nil {
			t.Errorf("%q is a tree", listing)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte(line("040000", "tree", "1", "envs") + line("100644", "blob", "3", "envs/main.tf")))
	f.Add([]byte("100644 blob 1\t.\x00040000 tree 2\t..\x00100644 blob 1\t/x"))
	f.Fuzz(func(t *testing.T, listing []byte) {
		tree, err := ParseTree("root", listing)
		if err != nil {
			return
		}
		if _, ok := tree.Entry(""); !ok {
			t.Error("there is no root")
		}
		if tree.Len() > strings.Count(string(listing), "\t") {
			t.Errorf("%d entries of %q", tree.Len(), listing)
		}
	})
}
