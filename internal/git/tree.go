package git

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
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

// mostEntries is how many files and directories a commit may have. A few objects in git can name many more: a directory that has
// another one ten times, which has a third one ten times.
const mostEntries = 1_000_000

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

// ParseTree reads what `git ls-tree -r -t -z --full-tree` prints of the tree id. ErrTooLarge when it has more than a million entries.
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
			return nil, fail(ErrTooLarge, "a commit with more than %d files and directories: take a smaller repository", most)
		}
		t.weight += entryWeight + len(line)
		parent := parentOf(e.Path)
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

func parentOf(name string) string {
	if parent := path.Dir(name); parent != "." {
		return parent
	}
	return ""
}

// Entry gives what is at a path; "" is the root.
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
