package redact

import (
	"slices"
	"sort"
)

// A bucket has the patterns that begin with the same four bytes. A large state has tens of thousands of one kind, such
// as addresses.
type bucket struct {
	// runs are sorted lists, each longer than the next: one list would be copied for each pattern.
	runs [][]string
}

// add adds a pattern. A duplicate is ignored.
func (b *bucket) add(pattern string) (added bool) {
	for _, run := range b.runs {
		if _, found := slices.BinarySearch(run, pattern); found {
			return false
		}
	}
	run := []string{pattern}
	for last := len(b.runs) - 1; last >= 0 && len(b.runs[last]) <= len(run); last-- {
		run = merge(b.runs[last], run)
		b.runs = b.runs[:last]
	}
	b.runs = append(b.runs, run)
	return true
}

// merge returns one sorted list of two.
func merge(one, other []string) []string {
	all := make([]string, 0, len(one)+len(other))
	for _, pattern := range other {
		n, _ := slices.BinarySearch(one, pattern)
		all = append(append(all, one[:n]...), pattern)
		one = one[n:]
	}
	return append(all, one...)
}

// narrow returns those of a sorted list that have c at depth. All of them are alike before depth, and longer.
func narrow(list []string, depth int, c byte) []string {
	first, last := list[0][depth], list[len(list)-1][depth]
	switch {
	case c < first || c > last:
		return nil
	case first == last:
		return list
	}
	list = list[sort.Search(len(list), func(i int) bool { return list[i][depth] >= c }):]
	return list[:sort.Search(len(list), func(i int) bool { return list[i][depth] > c })]
}
