package kinds

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/userapi"
)

// mostFacetValues is how many values of a field are returned.
const mostFacetValues = 100

// facet counts the values of a field.
type facet[R any] struct {
	field string
	// one is the value of a row, or many are its values.
	one    func(*R) string
	many   func(*R) []string
	counts map[string]int
}

func (k List[R]) facet(field string) (*facet[R], error) {
	f := &facet[R]{field: field, one: k.Filters[field], many: k.Sets[field], counts: map[string]int{}}
	if field == label {
		f.many = k.Labels
	}
	if f.one == nil && f.many == nil {
		known := strings.Join(k.fields(), ", ")
		return nil, &BadQuery{facets, "the values of " + field + " are not counted, but those of " + known}
	}
	return f, nil
}

// count counts a row that all filters let through but that of one field, which is empty for none. The values of a field
// are counted whatever that field is filtered by, so that others can be chosen.
func (f *facet[R]) count(row *R, unmet string) {
	if f.field == label {
		for _, l := range f.many(row) {
			if key, _, _ := strings.Cut(l, "="); unmet == "" || unmet == labelField(key) {
				f.counts[l]++
			}
		}
		return
	}
	switch {
	case unmet != "" && unmet != f.field:
	case f.one != nil:
		f.counts[f.one(row)]++
	default:
		for _, value := range f.many(row) {
			f.counts[value]++
		}
	}
}

func (f *facet[R]) answer() userapi.Facet {
	delete(f.counts, "") // no value
	answer := userapi.Facet{Field: f.field, Values: make([]userapi.FacetValue, 0, len(f.counts))}
	for value, n := range f.counts {
		answer.Values = append(answer.Values, userapi.FacetValue{Value: value, Count: n})
	}
	slices.SortFunc(answer.Values, func(a, b userapi.FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	answer.More = max(0, len(answer.Values)-mostFacetValues)
	answer.Values = answer.Values[:len(answer.Values)-answer.More]
	return answer
}

// grouping has the groups of a list. The zero value has none.
type grouping[R any] struct {
	by string
	of func(*R) string
	// collapsed are the groups whose rows are not on pages.
	collapsed []string
	groups    map[string]*userapi.Group
}

func (g *grouping[R]) isGrouped() bool { return g.of != nil }

// groupValue is the value of a field that has one.
func (k List[R]) groupValue(field string) (func(*R) string, error) {
	if value := k.Filters[field]; value != nil {
		return value, nil
	}
	key, isLabel := strings.CutPrefix(field, labelField(""))
	if !isLabel || key == "" || k.Labels == nil {
		known := strings.Join(slices.Sorted(maps.Keys(k.Filters)), ", ")
		return nil, &BadQuery{group, "rows cannot be grouped by " + field + "; use label:KEY for Stacks, or one of " +
			known}
	}
	return func(row *R) string {
		for _, l := range k.Labels(row) {
			if has, value, _ := strings.Cut(l, "="); has == key {
				return value
			}
		}
		return ""
	}, nil
}

// count counts a row of a group, and returns whether the row is on a page.
func (g *grouping[R]) count(value string, notReady bool) bool {
	if g.groups == nil {
		g.groups = map[string]*userapi.Group{}
	}
	is := g.groups[value]
	if is == nil {
		is = &userapi.Group{Value: value}
		g.groups[value] = is
	}
	is.Count++
	if notReady {
		is.NotReady++
	}
	return !slices.Contains(g.collapsed, value)
}

// groupsOf are the groups from the row before a page to its last row or, on the last page, to the end: as many as the
// page has rows, and those that are collapsed.
func (g *grouping[R]) groupsOf(rows []ranked[R], after *cursor, last bool) []userapi.Group {
	for _, r := range rows {
		g.groups[r.Group].Rows++
	}
	var all []userapi.Group
	for value, is := range g.groups {
		before := after != nil && compareGroups(value, after.Group) < 0
		behind := !last && compareGroups(value, rows[len(rows)-1].Group) > 0
		if !before && !behind {
			all = append(all, *is)
		}
	}
	slices.SortFunc(all, func(a, b userapi.Group) int { return compareGroups(a.Value, b.Value) })
	return all
}

// compareGroups orders groups by their values. Rows without a value are last.
func compareGroups(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return cmp.Compare(a, b)
}
