package redact

import (
	"slices"
	"sort"
	"strings"
)

// bucket has the patterns that begin alike. A large state has tens of thousands of one kind, such as addresses:
// those are sorted, so that few of them are compared with a text.
type bucket struct {
	// few are compared one by one: those with white space in them, and the newest.
	few []string
	// news is how many of few are to be sorted.
	news int
	// sorted are the others; there is no white space in them.
	sorted []string
}

// mostNews is how many are not sorted yet.
const mostNews = 1024

func (b *bucket) add(pattern string) {
	b.few = append(b.few, pattern)
	if strings.Contains(pattern, " ") {
		return
	}
	if b.news++; b.news < mostNews {
		return
	}
	b.news = 0
	var spaced, fresh []string
	for _, pattern := range b.few {
		if strings.Contains(pattern, " ") {
			spaced = append(spaced, pattern)
		} else {
			fresh = append(fresh, pattern)
		}
	}
	slices.Sort(fresh)
	b.few, b.sorted = spaced, merge(b.sorted, fresh)
}

// merge returns one sorted list of two: to sort the long one each time would take too long.
func merge(one, other []string) []string {
	all := make([]string, 0, len(one)+len(other))
	for _, pattern := range other {
		n, _ := slices.BinarySearch(one, pattern)
		all = append(append(all, one[:n]...), pattern)
		one = one[n:]
	}
	return append(all, one...)
}

// find returns the length of the longest of the sorted patterns that text begins with, and whether one of them
// continues past its end.
func (b *bucket) find(text []byte) (longest int, more bool) {
	rest := b.sorted
	after := sort.Search(len(rest), func(i int) bool { return rest[i] > string(text) })
	more = after < len(rest) && strings.HasPrefix(rest[after], string(text))
	for after > 0 {
		// All that text begins with are before it, and the longest is the last of them. What is last may be none,
		// but no other is longer than what it has in common with text.
		last := rest[after-1]
		alike := 0
		for alike < len(last) && alike < len(text) && last[alike] == text[alike] {
			alike++
		}
		if alike == len(last) {
			return alike, more
		}
		rest, text = rest[:after-1], text[:alike]
		after = sort.Search(len(rest), func(i int) bool { return rest[i] > string(text) })
	}
	return 0, more
}
