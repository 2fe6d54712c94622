package statefile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/base/natural"
	"cairn.dev/cairn/internal/engine"
)

// Actions of a difference.
const (
	Added   = "add"
	Removed = "remove"
	Changed = "change"
	Moved   = "move"
)

// actions in the order in which they are listed: destructive ones first, as in a plan.
var actions = []string{Removed, Changed, Added, Moved}

// A Difference lists the differences of a state from another.
type Difference struct {
	// Resources by action and address.
	Resources []ResourceDifference  `json:"resources"`
	Outputs   []AttributeDifference `json:"outputs"`
}

// ResourceDifference is the difference of a resource.
type ResourceDifference struct {
	Address string `json:"address"`
	// Deposed is the key of an object that was replaced and still has to be destroyed.
	Deposed string `json:"deposed,omitempty"`
	// Action: add, remove, change or move.
	Action string `json:"action"`
	// Previous is the address of a moved resource in the earlier state.
	Previous string `json:"previous,omitempty"`
	// Attributes that differ, if both states have the resource.
	Attributes []AttributeDifference `json:"attributes,omitempty"`
	// Notes are differences outside of the attributes. Example: now tainted.
	Notes []string `json:"notes,omitempty"`
}

// AttributeDifference is the difference of an attribute or an output. Secrets are not in it, only that they differ.
type AttributeDifference struct {
	// Path of the attribute, or name of the output. Example: tags.name, list[0].
	Path string `json:"path"`
	// Action: add, remove or change.
	Action string `json:"action"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// Count counts the resources with an action.
func (d Difference) Count(action string) int {
	n := 0
	for _, r := range d.Resources {
		if r.Action == action {
			n++
		}
	}
	return n
}

// None returns whether there is no difference.
func (d Difference) None() bool { return len(d.Resources) == 0 && len(d.Outputs) == 0 }

type identity struct{ address, deposed string }

// Compare returns the differences of a state from an earlier one. It ignores data resources, which change with each
// read.
func Compare(from, to *State) Difference {
	d := Difference{Resources: []ResourceDifference{}, Outputs: []AttributeDifference{}}
	before := managed(from)
	after := managed(to)
	previous := moves(before, after)
	moved := map[identity]bool{}
	for _, old := range previous {
		moved[old] = true
	}
	for id := range before {
		if _, ok := after[id]; !ok && !moved[id] {
			d.Resources = append(d.Resources, ResourceDifference{Address: id.address, Deposed: id.deposed,
				Action: Removed})
		}
	}
	for id, y := range after {
		change := ResourceDifference{Address: id.address, Deposed: id.deposed, Action: Changed}
		x, ok := before[id]
		if old, isMove := previous[id]; isMove {
			x, ok = before[old], true
			change.Action, change.Previous = Moved, old.address
		}
		if !ok {
			change.Action = Added
		} else {
			change.Attributes = compareValues(nil, "", x.Attributes, y.Attributes)
			change.Notes = notes(x, y)
			if change.Action == Changed && len(change.Attributes)+len(change.Notes) == 0 {
				continue
			}
		}
		d.Resources = append(d.Resources, change)
	}
	slices.SortFunc(d.Resources, func(a, b ResourceDifference) int {
		return cmp.Or(
			cmp.Compare(slices.Index(actions, a.Action), slices.Index(actions, b.Action)),
			natural.Compare(a.Address, b.Address), cmp.Compare(a.Deposed, b.Deposed),
		)
	})
	d.Outputs = append(d.Outputs, compareMaps(nil, "", from.Outputs, to.Outputs)...)
	return d
}

func managed(s *State) map[identity]Resource {
	all := map[identity]Resource{}
	for _, r := range s.Resources {
		if r.Mode == "managed" {
			all[identity{r.Address, r.Deposed}] = r
		}
	}
	return all
}

func notes(a, b Resource) []string {
	var notes []string
	switch {
	case b.Tainted && !a.Tainted:
		notes = append(notes, "now tainted: the next plan replaces it")
	case a.Tainted && !b.Tainted:
		notes = append(notes, "no longer tainted")
	}
	if a.Provider != b.Provider {
		notes = append(notes, "its provider is "+b.Provider+", was "+a.Provider)
	}
	if a.rest != b.rest {
		notes = append(notes, "data of the engine other than the attributes differs")
	}
	return notes
}

// compareValues adds the differences at and below a path. A value that is secret in one state is secret in the other
// too.
func compareValues(list []AttributeDifference, path string, a, b any) []AttributeDifference {
	if reflect.DeepEqual(Reveal(a), Reveal(b)) {
		return list
	}
	if inner, ok := dynamic(a); ok {
		if other, ok := dynamic(b); ok && !reflect.DeepEqual(Reveal(inner), Reveal(other)) {
			return compareValues(list, path, inner, other)
		}
	}
	x, xs := a.(map[string]any)
	y, ys := b.(map[string]any)
	if xs && ys {
		return compareMaps(list, path, x, y)
	}
	p, ps := a.([]any)
	q, qs := b.([]any)
	if ps && qs && len(p) == len(q) {
		for i := range p {
			list = compareValues(list, path+"["+index(i)+"]", p[i], q[i])
		}
		return list
	}
	if hasSecret(a) || hasSecret(b) {
		a, b = Secret{}, Secret{}
	}
	return append(list, AttributeDifference{Path: path, Action: Changed, Before: a, After: b})
}

func compareMaps(list []AttributeDifference, path string, a, b map[string]any) []AttributeDifference {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, was := a[name]
		y, is := b[name]
		switch at := join(path, name); {
		case !was:
			list = append(list, AttributeDifference{Path: at, Action: Added, After: y})
		case !is:
			list = append(list, AttributeDifference{Path: at, Action: Removed, Before: x})
		default:
			list = compareValues(list, at, x, y)
		}
	}
	return list
}

// hasSecret returns whether a value contains a secret.
func hasSecret(v any) bool {
	switch v := v.(type) {
	case Secret:
		return true
	case map[string]any:
		for _, value := range v {
			if hasSecret(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasSecret)
	}
	return false
}

func join(path, name string) string {
	if !plain(name) {
		return path + "[" + engine.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// plain returns whether a name needs no quotes.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func index(i int) string { return strconv.Itoa(i) }
