package closure

import (
	"crypto/sha256"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"cairn.dev/cairn/internal/git"
)

const (
	// longestGlob is how many bytes one may have.
	longestGlob = 1024
	// mostAlternatives bounds the ways to read {a,b}{c,d}: a match tries them all.
	mostAlternatives = 1000
)

// glob is a pattern for paths below a directory.
type glob struct {
	base string
	// pattern is matched against paths from base on; "" means base itself, a file or all that is below a directory.
	pattern string
}

// globKey says what a glob was matched against: the directory at base, by its id.
type globKey struct {
	glob
	id string
}

// matches are the files that a glob matches, and a digest of them.
type matches struct {
	files []git.Entry
	sum   [sha256.Size]byte
}

// globFact is a glob that a search asked for: while the directory at its base has this id, or else while the files have
// this sum, its answer holds.
type globFact struct {
	glob glob
	base string
	sum  [sha256.Size]byte
}

// parseGlob reads a trigger: doublestar's syntax, from the repository's root. A leading / or ./ says nothing more.
func parseGlob(text string) (glob, error) {
	switch {
	case len(text) > longestGlob:
		return glob{}, fail(ErrInvalidGlob, "trigger %.50q...: longer than %d bytes", text, longestGlob)
	case strings.ContainsRune(text, 0):
		return glob{}, fail(ErrInvalidGlob, "trigger %q: there is a zero byte in it", text)
	case alternatives(text) > mostAlternatives:
		return glob{}, fail(ErrInvalidGlob, "trigger %q: the braces in it mean more than %d globs", text, mostAlternatives)
	}
	var parts []string
	for part := range strings.SplitSeq(text, "/") {
		switch {
		case part == "" || part == ".":
		case unescape(part) == "..":
			return glob{}, fail(ErrInvalidGlob, "trigger %q: .. leads out of the repository, paths start at its root", text)
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return glob{}, fail(ErrInvalidGlob, "trigger %q: names nothing; ** means all files", text)
	}
	clean := strings.Join(parts, "/")
	if !doublestar.ValidatePattern(clean) {
		return glob{}, fail(ErrInvalidGlob, "trigger %q: a bracket or brace is not closed, or nothing follows a backslash", text)
	}
	base, pattern := splitGlob(clean)
	if pattern == "**" {
		pattern = "" // so that a directory stands for all files below it
	}
	return glob{base: base, pattern: pattern}, nil
}

// splitGlob gives the path before the first part that has a wildcard in it, as trees call it, and the rest.
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

// unescape takes the backslashes out. Any character may have one, not just those that mean something.
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

// alternatives is how many globs without braces a glob means, at most.
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

// match gives the files below a glob's base that it matches.
func (c *Closures) match(tree Tree, g glob) matches {
	base, ok := tree.Entry(g.base)
	if !ok || base.Kind != git.KindDir {
		return matches{}
	}
	key := globKey{g, base.ID}
	if m, ok := c.matches.Get(key); ok {
		return m
	}
	// Without ** a pattern reaches as deep as it has slashes, at most, and classes: [!a] matches a slash too. A star in braces
	// may become one half of **.
	deepest := strings.Count(g.pattern, "/") + strings.Count(g.pattern, "[")
	if strings.Contains(g.pattern, "**") || (strings.Contains(g.pattern, "{") && strings.Contains(g.pattern, "*")) {
		deepest = -1
	}
	var m matches
	walk(tree, g.base, deepest, func(e git.Entry) {
		if doublestar.MatchUnvalidated(g.pattern, below(g.base, e.Path)) {
			m.files = append(m.files, e)
		}
	})
	if len(m.files) > 0 {
		h := sha256.New()
		writeEntries(h, m.files)
		h.Sum(m.sum[:0])
	}
	c.matches.Add(key, m, len(m.files))
	return m
}

// walk calls f for what is no directory; deepest is how many directories it goes down, -1 for all.
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

// below is the rest of a path after a directory that it is in.
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return name[len(dir)+1:]
}
