package kinds

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/userapi"
)

// A List is what can be asked of rows of one type: they are filtered, searched, sorted and cut on the server, so that a
// page of ten thousand Stacks costs the browser as much as one of ten.
type List[R any] struct {
	// Name is the object's namespace and name, which are unique unless an object has several rows.
	Name func(*R) (namespace, name string)
	// Part distinguishes the rows of an object; nil where each object has one.
	Part func(*R) string
	// Compare orders the texts of ranks and parts; nil orders them by their bytes.
	Compare func(a, b string) int
	// Sorts are what rows can be sorted by, Default the one when none is asked for; with - in front the largest is
	// first.
	Sorts   map[string]func(*R) Rank
	Default string
	// Filters let a row through whose value is one of those asked for; Sets one that has any of them.
	// Aliases are other values by which a row passes the filter of a field, which facets do not count; "" for none.
	Filters map[string]func(*R) string
	Aliases map[string]func(*R) string
	Sets    map[string]func(*R) []string
	// Labels are those of a row as key=value, nil for kinds that are not filtered by labels. A row passes if it has one
	// of the values asked for of each key.
	Labels func(*R) []string
	// NotReady are the rows that each group counts; nil for none.
	NotReady func(*R) bool
	// Words are the text that a search matches.
	Words func(*R) []string
}

// A Rank is the position of a row: by Number and, where that is the same, by Text.
type Rank struct {
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
}

// Bounds of what is asked for.
const (
	// DefaultLimit is how many rows a page has by default.
	DefaultLimit = 50
	// MostLimit is how many rows a page has at most.
	MostLimit = 500
	// longestValue of a filter or a search, and how many of them there are.
	longestValue, mostValues = 253, 50
	// longestLabel is a domain of 253 characters, a name of 63 and a value of 63, with what is between them.
	longestLabel = 253 + 1 + 63 + 1 + 63
)

// Parameters that every list has.
const (
	search, order, limit, after = "q", "sort", "limit", "after"
	facets, group, collapsed    = "facet", "group", "collapsed"
	// label is a parameter of kinds with Labels.
	label = "label"
)

// cursor is the last row of a page, after which the next one continues. It stays valid when rows are added or removed.
type cursor struct {
	Sort string `json:"s"`
	// GroupBy is the field of the groups, and Group the value of the row.
	GroupBy string `json:"gb,omitempty"`
	Group   string `json:"g,omitempty"`
	Rank
	Namespace string `json:"ns"`
	Name      string `json:"name"`
	Part      string `json:"p,omitempty"`
}

// query is what is asked for.
type query[R any] struct {
	words   []string
	filters []filter[R]
	rank    func(*R) Rank
	texts   func(a, b string) int
	sort    string
	down    bool
	limit   int
	after   *cursor
	facets  []*facet[R]
	grouping[R]
}

// filter lets some rows through by the value of a field.
type filter[R any] struct {
	field string
	lets  func(*R) bool
}

// BadQuery is the error of an invalid query, with the valid values.
type BadQuery struct{ Parameter, Message string }

func (b *BadQuery) Error() string { return b.Parameter + ": " + b.Message }

// ranked is a row and its rank.
type ranked[R any] struct {
	cursor
	row *R
}

// Page returns the part of the rows that the values ask for. An error is a *BadQuery.
func (k List[R]) Page(rows []*R, values url.Values) (userapi.Page[R], error) {
	return k.PageOf(slices.Values(rows), values)
}

// PageOf is Page for rows that are computed: each is valid until the next one.
func (k List[R]) PageOf(rows iter.Seq[*R], values url.Values) (userapi.Page[R], error) {
	q, err := k.parse(values)
	if err != nil {
		return userapi.Page[R]{}, err
	}
	page := userapi.Page[R]{Items: []R{}}
	var first []ranked[R] // those of the page and one more, in order
	for row := range rows {
		field, unmet := q.unmet(row)
		if unmet > 1 || unmet == 1 && len(q.facets) == 0 || !k.isFound(row, q.words) {
			continue
		}
		for _, f := range q.facets {
			f.count(row, field)
		}
		if unmet > 0 {
			continue
		}
		page.Total++
		r := ranked[R]{cursor{Rank: q.rank(row)}, row}
		r.Namespace, r.Name = k.Name(row)
		if k.Part != nil {
			r.Part = k.Part(row)
		}
		if q.isGrouped() {
			if r.Group = q.of(row); !q.count(r.Group, k.NotReady != nil && k.NotReady(row)) {
				continue
			}
		}
		first = q.insert(first, r)
	}
	shown := first[:min(q.limit, len(first))]
	for _, r := range shown {
		page.Items = append(page.Items, *r.row)
	}
	if len(first) > q.limit {
		last := first[q.limit-1].cursor
		last.Sort, last.GroupBy = q.sort, q.by
		page.Next = last.String()
	}
	for _, f := range q.facets {
		page.Facets = append(page.Facets, f.answer())
	}
	if q.isGrouped() {
		page.Groups = q.groupsOf(shown, q.after, page.Next == "")
	}
	return page, nil
}

// insert puts a row where it belongs among the first after the cursor, of which one more is kept than a page has.
func (q query[R]) insert(rows []ranked[R], row ranked[R]) []ranked[R] {
	if q.after != nil && q.compare(row.cursor, *q.after) <= 0 {
		return rows
	}
	if full := len(rows) > q.limit; full {
		if q.compare(row.cursor, rows[q.limit].cursor) > 0 {
			return rows
		}
		rows = rows[:q.limit]
	}
	copied := *row.row
	row.row = &copied
	here, _ := slices.BinarySearchFunc(rows, row, func(a, b ranked[R]) int { return q.compare(a.cursor, b.cursor) })
	return slices.Insert(rows, here, row)
}

func (q query[R]) compare(a, b cursor) int {
	ranks := cmp.Compare(a.Number, b.Number)
	if ranks == 0 {
		ranks = q.texts(a.Text, b.Text)
	}
	if q.down {
		ranks = -ranks
	}
	objects := cmp.Or(compareGroups(a.Group, b.Group), ranks, cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name))
	if objects != 0 {
		return objects
	}
	return q.texts(a.Part, b.Part)
}

// unmet returns how many filters do not let a row through, at most two, and the field of the first.
func (q query[R]) unmet(row *R) (field string, n int) {
	for _, f := range q.filters {
		if f.lets(row) {
			continue
		}
		if n++; n > 1 {
			break
		}
		field = f.field
	}
	return field, n
}

func (k List[R]) isFound(row *R, words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := k.Words(row)
	for _, word := range words {
		if !slices.ContainsFunc(texts, func(text string) bool { return containsFold(text, word) }) {
			return false
		}
	}
	return true
}

// containsFold is strings.Contains for a lower-case word, whatever the text's case is. Nothing is copied.
func containsFold(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func (k List[R]) parse(values url.Values) (query[R], error) {
	q := query[R]{limit: DefaultLimit, sort: k.Default, texts: k.Compare}
	if q.texts == nil {
		q.texts = cmp.Compare[string]
	}
	for name, of := range values {
		if err := bounded(name, of); err != nil {
			return q, err
		}
		one := of[len(of)-1]
		switch name {
		case search:
			q.words = strings.Fields(strings.ToLower(one))
		case order:
			q.sort = cmp.Or(one, k.Default)
		case limit:
			n, err := strconv.Atoi(one)
			if err != nil || n < 1 || n > MostLimit {
				return q, &BadQuery{name, fmt.Sprintf("%q is no number from 1 to %d", one, MostLimit)}
			}
			q.limit = n
		case after:
			at, err := parseCursor(one)
			if err != nil {
				return q, err
			}
			q.after = at
		case facets:
			for _, field := range of {
				f, err := k.facet(field)
				if err != nil {
					return q, err
				}
				q.facets = append(q.facets, f)
			}
		case group:
			value, err := k.groupValue(one)
			if err != nil {
				return q, err
			}
			q.by, q.of = one, value
		case collapsed:
			q.collapsed = of
		default:
			filters, err := k.filter(name, of)
			if err != nil {
				return q, err
			}
			q.filters = append(q.filters, filters...)
		}
	}
	by, down := strings.CutPrefix(q.sort, "-")
	rank, ok := k.Sorts[by]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(k.Sorts)), ", ")
		return q, &BadQuery{order, fmt.Sprintf("rows cannot be sorted by %q, but by %s; - in front turns it round",
			by, known)}
	}
	q.rank, q.down = rank, down
	if q.after != nil && (q.after.Sort != q.sort || q.after.GroupBy != q.by) {
		return q, &BadQuery{after, "it is of a list that was sorted in another way: begin again without it"}
	}
	return q, nil
}

// filter lets rows through that have one of the values of a parameter.
func (k List[R]) filter(name string, values []string) ([]filter[R], error) {
	if value, ok := k.Filters[name]; ok {
		passes := func(row *R) bool { return slices.Contains(values, value(row)) }
		if alias := k.Aliases[name]; alias != nil {
			passes = func(row *R) bool {
				other := alias(row)
				return slices.Contains(values, value(row)) || other != "" && slices.Contains(values, other)
			}
		}
		return []filter[R]{{name, passes}}, nil
	}
	if set, ok := k.Sets[name]; ok {
		has := func(one string) bool { return slices.Contains(values, one) }
		return []filter[R]{{name, func(row *R) bool { return slices.ContainsFunc(set(row), has) }}}, nil
	}
	if name == label && k.Labels != nil {
		return labelFilters(k.Labels, values)
	}
	return nil, &BadQuery{name, "there is no such parameter; there are " + strings.Join(k.Parameters(), ", ")}
}

func bounded(name string, values []string) error {
	if len(values) == 0 || len(values) > mostValues {
		return &BadQuery{name, fmt.Sprintf("%d values are too many: %d are the most", len(values), mostValues)}
	}
	most := longestValue
	switch name {
	case after: // it holds a namespace, a name and texts, of which some bytes are escaped
		most *= 64
	case label, group:
		most = longestLabel
	}
	for _, v := range values {
		if len(v) > most {
			return &BadQuery{name, fmt.Sprintf("it is longer than %d bytes", most)}
		}
	}
	return nil
}

// Parameters are all that can be asked with.
func (k List[R]) Parameters() []string {
	all := append([]string{search, order, limit, after, facets, group, collapsed}, k.fields()...)
	slices.Sort(all)
	return all
}

// fields are what rows are filtered by.
func (k List[R]) fields() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(k.Filters)), maps.Keys(k.Sets))
	if k.Labels != nil {
		all = append(all, label)
	}
	slices.Sort(all)
	return all
}

// String is a cursor as callers pass it on.
func (c cursor) String() string {
	data, _ := json.Marshal(c) // strings and numbers always can be
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseCursor(text string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	c := &cursor{}
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err != nil {
		return nil, &BadQuery{after, "it is not the next of a page"}
	}
	return c, nil
}
