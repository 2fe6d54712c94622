package closure

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/source/git"
)

// answer is the result of a search with every entry that the search read from the tree: for a tree with the same
// entries, the answer is the same.
type answer struct {
	digest string
	// roots are the entries of the closure, by path: a directory includes all that is below it, and no entry below it
	// is listed as well.
	roots   []git.Entry
	modules []string
	engine  Engine
	open    []string
	// dependencies are Terragrunt units.
	dependencies []Dependency
	// unit is the result of a search for it.
	unit Unit

	// facts are the entries that the search read. One without a kind does not exist; of a directory without an ID, only
	// its kind was read.
	facts []git.Entry
	globs []globFact
	// documentless are roots without the documents in them.
	documentless []documentless
}

// holds reports whether a tree has the same entries and matches as the one that the answer was computed for.
func (c *Closures) holds(a *answer, tree Tree) bool {
	for _, fact := range a.facts {
		e, _ := tree.Entry(fact.Path)
		if e.Kind != fact.Kind || fact.ID != "" && e.ID != fact.ID {
			return false
		}
	}
	for _, d := range a.documentless {
		if !d.holds(tree) {
			return false
		}
	}
	for _, fact := range a.globs {
		base, _ := tree.Entry(fact.glob.base)
		if base.ID != fact.base && c.match(tree, fact.glob).sum != fact.sum {
			return false
		}
	}
	return true
}

// answer returns the result of the search.
func (s *search) answer(name string) *answer {
	a := &answer{modules: slices.Sorted(maps.Keys(s.modules)), engine: s.engine, open: s.open, globs: s.globs,
		dependencies: s.dependencies}
	if len(s.open) > 0 {
		root, _ := s.tree.Entry("")
		s.dirs, s.files = map[string]git.Entry{"": root}, nil
	}
	a.roots = s.roots()
	if len(s.open) == 0 {
		a.documentless = s.documentless(a.roots)
	}
	for _, e := range a.roots {
		s.facts[e.Path] = e
	}
	hashed := slices.Clone(a.roots)
	for _, d := range a.documentless {
		delete(s.facts, d.path)
		hashed[slices.IndexFunc(hashed, func(e git.Entry) bool { return e.Path == d.path })].ID = d.sum
	}
	a.facts = slices.Collect(maps.Values(s.facts))

	h := sha256.New()
	// Names contain no zero bytes, so no two lists of entries have the same bytes.
	h.Write([]byte("closure 1\x00" + name + "\x00"))
	writeEntries(h, hashed)
	a.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return a
}

// roots returns the entries of the closure, by path, without those below another one.
func (s *search) roots() []git.Entry {
	var roots []git.Entry
	for _, found := range []map[string]git.Entry{s.dirs, s.files} {
		for _, e := range found {
			if e.Path == "" || !s.covers(parentOf(e.Path)) {
				roots = append(roots, e)
			}
		}
	}
	slices.SortFunc(roots, func(x, y git.Entry) int { return strings.Compare(x.Path, y.Path) })
	return roots
}

// writeEntries writes kind, ID and path of entries. The ID of a directory is a hash of all that is below it, modes
// included.
func writeEntries(h hash.Hash, entries []git.Entry) {
	var line []byte
	for _, e := range entries {
		line = append(line[:0], byte(e.Kind))
		line = append(line, e.ID...)
		line = append(line, ' ')
		line = append(line, e.Path...)
		line = append(line, 0)
		h.Write(line)
	}
}
