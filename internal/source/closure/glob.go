package closure

import (
	"crypto/sha256"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"cairn.dev/cairn/internal/source/git"
)

const (
	// longestGlob is the most bytes of a glob.
	longestGlob = 1024
	// mostAlternatives limits how many globs without braces {a,b}{c,d} expands to: a match tries each of them.
	mostAlternatives = 1000
)

// glob is a pattern for paths below a directory.
type glob struct {
	base string
	// pattern is matched against paths from base on; "" means base itself: a file, or a directory with all files
	// below it.
	pattern string
}

// globKey is a glob with the ID of the directory at its base.
type globKey struct {
	glob
	id string
}

// matches has the files that a glob matches, and a digest of them.
type matches struct {
	files []git.Entry
	sum   [sha256.Size]byte
	// walked is how many entries were compared.
	walked int
}

// globFact is a glob that a search matched: while the directory at its base has this ID, or the matches have this sum,
// the result of the search is valid.
type globFact struct {
	glob glob
	base string
	sum  [sha256.Size]byte
}

// parseGlob parses a trigger: doublestar's syntax, from the repository's root. A leading / or ./ has no effect.
func parseGlob(text string) (glob, error) {
	switch {
	case len(text) > longestGlob:
		return glob{}, fail(ErrInvalidGlob, "trigger %.50q...: it has more than %d bytes, which is the limit: "+
			"use several shorter triggers", text, longestGlob)
	case strings.ContainsRune(text, 0):
		return glob{}, fail(ErrInvalidGlob, "trigger %q: remove the zero byte in it", text)
	case alternatives(text) > mostAlternatives:
		return glob{}, fail(ErrInvalidGlob, "trigger %q: its braces expand to more than %d globs, which is the "+
			"limit: use wildcards or several triggers", text, mostAlternatives)
	}
	var parts []string
	for part := range strings.SplitSeq(text, "/") {
		switch {
		case part == "" || part == ".":
		case unescape(part) == "..":
			return glob{}, fail(ErrInvalidGlob, "trigger %q: remove the .. in it: paths start at the repository's root",
				text)
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return glob{}, fail(ErrInvalidGlob, "trigger %q: it is empty; write ** for all files of the repository", text)
	}
	clean := strings.Join(parts, "/")
	if !doublestar.ValidatePattern(clean) {
		return glob{}, fail(ErrInvalidGlob, "trigger %q: it is not a valid glob: close each bracket and brace, "+
			"and write a character after each backslash", text)
	}
	base, pattern := splitGlob(clean)
	if pattern == "**" {
		pattern = "" // a directory includes all files below it
	}
	return glob{base: base, pattern: pattern}, nil
}

// splitGlob returns the path before the first part with a wildcard, without backslashes, and the rest.
func splitGlob(text string) (base, pattern string) {
	slash := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			slash = i
		case '*', '?', '[', '{':
			return unescape(text[:max(slash, 0)]), text[slash+1:]
		}
	}
	return unescape(text), ""
}

// unescape removes the backslashes. Any character may have one, not only the special ones.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// alternatives is the most globs without braces that a glob expands to.
func alternatives(text string) int {
	all, open := 1, []int{}
	for i := range len(text) {
		switch {
		case text[i] == '{':
			open = append(open, 1)
		case text[i] == ',' && len(open) > 0:
			open[len(open)-1]++
		case text[i] == '}' && len(open) > 0:
			all = min(all*open[len(open)-1], mostAlternatives+1)
			open = open[:len(open)-1]
		}
	}
	return all
}

// match returns the files below a glob's base that it matches.
func (c *Closures) match(tree Tree, g glob) matches {
	base, ok := tree.Entry(g.base)
	if !ok || base.Kind != git.KindDir {
		return matches{}
	}
	key := globKey{g, base.ID}
	if m, ok := c.matches.Get(key); ok {
		return m
	}
	// Without ** a pattern matches at most as deep as it has slashes and classes: [!a] matches a slash too. A star in
	// braces may be one half of **.
	deepest := strings.Count(g.pattern, "/") + strings.Count(g.pattern, "[")
	if strings.Contains(g.pattern, "**") || (strings.Contains(g.pattern, "{") && strings.Contains(g.pattern, "*")) {
		deepest = -1
	}
	var m matches
	walk(tree, g.base, deepest, func(e git.Entry) {
		if m.walked += alternatives(g.pattern); doublestar.MatchUnvalidated(g.pattern, below(g.base, e.Path)) {
			m.files = append(m.files, e)
		}
	})
	if len(m.files) > 0 {
		h := sha256.New()
		writeEntries(h, m.files)
		h.Sum(m.sum[:0])
	}
	c.matches.Add(key, m, len(g.pattern)+len(g.base)+entriesWeight(m.files))
	return m
}

// walk calls f for each file, symlink and submodule below a directory; deepest is how many levels of directories it
// reads, -1 for all.
func walk(tree Tree, dir string, deepest int, f func(git.Entry)) {
	entries, _ := tree.Dir(dir)
	for _, e := range entries {
		switch {
		case e.Kind != git.KindDir:
			f(e)
		case deepest != 0:
			walk(tree, e.Path, deepest-1, f)
		}
	}
}

// below returns the rest of a path after a directory that it is in.
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return name[len(dir)+1:]
}
