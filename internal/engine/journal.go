package engine

import (
	"cmp"
	"slices"
	"strings"
)

// Missing is a resource that applies have created and that a state does not have.
type Missing struct {
	Address string
	// ID to import it by; empty when the engine reported none that an import accepts.
	ID string
	// Old is set when the state has another object at the address, which this one replaced.
	Old Old
}

// Old is what became of an object that was replaced.
type Old string

// What became of an object that was replaced.
const (
	// OldNone: there was none.
	OldNone Old = ""
	// OldGone: it was destroyed, or became the new one.
	OldGone Old = "Gone"
	// OldThere: it may exist still, and is to be destroyed; or is one that the state knows to be.
	OldThere Old = "There"
	// OldTheirs: it did not replace that. A user put another one there, since a version of the state had none or
	// another one.
	OldTheirs Old = "Theirs"
)

// Held records in a journal what a version of the state has had. The journal is done with that: when a later version
// does not have it, a user removed it, and it is theirs.
const Held Action = "held"

// Instead records in a journal what a version of the state had at the address of what it did not have; without an ID
// when there was nothing. When a later version has another one there, and the journal has no entry for that, a user put
// it there.
const Instead Action = "instead"

// living is what a journal has of an address.
type living struct {
	Done
	// last is where in the journal the last word on it is.
	last int
	// created: it was created, and not only changed.
	created bool
	alive   bool
	// held: a version of the state had it.
	held bool
	// createdID is the ID that it was created with there.
	createdID string
	// instead is the ID of what the state had there, without it; nil when that was not checked yet.
	instead *string
	// gone are the IDs of those that were destroyed there.
	gone map[string]bool
}

// Living returns what exists according to a journal and was in no version of the state, by the last entry of each
// address: of a replacement that creates before it destroys the last entry is for the old one, whose ID differs from
// that of the new one.
func Living(journal []Done) []Done {
	var all []Done
	for _, l := range replay(journal) {
		if l.open() {
			all = append(all, l.Done)
		}
	}
	slices.SortFunc(all, func(a, b Done) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// open reports whether the journal is all that may know it.
func (l *living) open() bool { return l.alive && !l.held }

// replay is what a journal has, by address.
func replay(journal []Done) map[string]*living {
	at := map[string]*living{}
	for n, d := range journal {
		if Action(d.Action) == Invoke { // which leaves nothing that a state could have
			continue
		}
		l := at[d.Address]
		if l == nil {
			l = &living{gone: map[string]bool{}}
			at[d.Address] = l
		}
		switch Action(d.Action) {
		case Create, Replace, Import:
			l.Done, l.last, l.created, l.alive, l.held = d, n, true, true, false
			if l.createdID = d.ID; Action(d.Action) == Import {
				l.createdID = ""
			}
			l.instead = nil
			delete(l.gone, d.ID)
		case Update:
			if l.alive && d.ID != l.ID { // it became the new one
				l.gone[l.ID] = true
			}
			l.created = l.created && l.alive
			l.held = l.held && d.ID == l.ID
			l.Done, l.last, l.alive = d, n, true
		case Held:
			l.held = l.held || l.alive && d.ID == l.ID
		case Instead:
			if l.alive && l.instead == nil {
				l.instead = &d.ID
			}
		default: // destroyed or, and that is the same here, forgotten
			l.gone[d.ID] = true
			if l.alive = l.alive && d.ID != "" && d.ID != l.ID; !l.alive {
				l.Done, l.last = d, n
			}
		}
	}
	return at
}

// FindMissing compares a journal with a state. What the state has at another address, where a user moved it, is not
// missing, nor is what an earlier version of it had.
func FindMissing(journal []Done, state *Instances) []Missing {
	var all []Missing
	c := compare(journal, state)
	for _, l := range c.recorded {
		if m, missing := c.missing(l); missing && l.open() {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Missing) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// FindHeld returns the entries to add to a journal because of a version of the state: for what it has, or may have;
// and for what it has not, what it has at that address.
func FindHeld(journal []Done, state *Instances) []Done {
	var all []Done
	c := compare(journal, state)
	for _, l := range c.recorded {
		_, missing := c.missing(l)
		if !l.open() || missing && l.instead != nil {
			continue
		}
		held := l.Done
		if held.Action = string(Held); missing {
			held.Action, held.ID = string(Instead), ""
			if there := c.there[l.Address]; there != nil {
				held.ID = there.id(l.IDKey)
			}
		}
		all = append(all, held)
	}
	slices.SortFunc(all, func(a, b Done) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// comparison of a journal with a state.
type comparison struct {
	recorded map[string]*living
	// there are the objects of the state that count, by address, and deposed those addresses at which there is one to
	// be destroyed.
	there   map[string]*instance
	deposed map[string]bool
	// holders are the addresses at which the state has a resource, also as one to be destroyed.
	holders map[identity][]string
}

// identity is what a resource is known by.
type identity struct{ kind, idKey, id string }

// compare reads each object of a state once: there may be many, and as many in the journal.
func compare(journal []Done, state *Instances) comparison {
	c := comparison{replay(journal), map[string]*instance{}, map[string]bool{}, map[identity][]string{}}
	keys := map[string]bool{}
	for _, l := range c.recorded {
		keys[l.IDKey] = true
	}
	for r := range state.resources {
		for i := range state.resources[r].instances {
			it := &state.resources[r].instances[i]
			if it.deposed {
				c.deposed[it.address] = true
			} else {
				c.there[it.address] = it
			}
			for key, id := range it.ids(keys) {
				who := identity{state.resources[r].kind, key, id}
				c.holders[who] = append(c.holders[who], it.address)
			}
		}
	}
	return c
}

// missing reports whether a state does not have what lives at an address.
func (c comparison) missing(l *living) (Missing, bool) {
	if c.has(l) {
		return Missing{}, false
	}
	m := Missing{Address: l.Address, ID: importID(l.Done)}
	if there := c.there[l.Address]; there != nil {
		old := there.id(l.IDKey)
		if old == "" || l.ID == "" { // it is not known whether it is another one
			return Missing{}, false
		}
		switch {
		case !l.gone[old] && l.instead != nil && *l.instead != old:
			m.Old = OldTheirs
		case l.gone[old] || !l.created:
			m.Old = OldGone
		default:
			m.Old = OldThere
		}
	}
	if m.Old != OldTheirs && c.deposed[l.Address] { // engines do not import where there is one
		m.Old = OldThere
	}
	return m, true
}

// has reports whether a state has a resource: at its address, or at another one, where a user moved it. An import would
// then have it twice. At another address only the ID shows that it is the same, and not even that where a resource of
// its type was created there with the same ID: such IDs (a name within a region, the digest of a content) identify
// nothing.
func (c comparison) has(l *living) bool {
	for _, address := range c.holders[identity{l.Type, l.IDKey, l.ID}] {
		other := c.recorded[address]
		own := other != nil && other.alive && other.Type == l.Type && other.createdID == l.ID
		if address == l.Address || l.IDKey == "id" && !own {
			return true
		}
	}
	return false
}

// Presence is where a resource of a journal is now.
type Presence string

// Where a resource of a journal is now.
const (
	// InState: the state has it.
	InState Presence = "InState"
	// NotInState: no version of the state has had it, so that the next plan takes it in.
	NotInState Presence = "Missing"
	// TakenOut: a version of the state had it, and a user removed it.
	TakenOut Presence = "TakenOut"
	// Destroyed: it was destroyed, or forgotten.
	Destroyed Presence = "Destroyed"
	// Unknown: the state cannot be read, as where the engine encrypts it.
	Unknown Presence = "Unknown"
)

// Standing is a resource of a journal, and where it is now.
type Standing struct {
	Done
	// At is where in the journal the last word on it is.
	At  int
	How Presence
}

// Standings returns the last word of a journal on each address, beside a state; nil is one that cannot be looked into.
func Standings(journal []Done, state *Instances) []Standing {
	var all []Standing
	known := cmp.Or(state, &Instances{})
	c := compare(journal, known)
	for _, l := range c.recorded {
		s := Standing{Done: l.Done, At: l.last, How: NotInState}
		_, missing := c.missing(l)
		switch {
		case l.Action == "": // only what was held: there is nothing to report
			continue
		case !l.alive:
			s.How = Destroyed
		case !missing:
			s.How = InState
		case l.held:
			s.How = TakenOut
		case state == nil:
			s.How = Unknown
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Standing) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// importID is what the resource may be imported by. Where there is no ID, engines report a name, or one from among the
// tags, which identifies nothing.
func importID(d Done) string {
	if strings.Contains(d.IDKey, ".") {
		return ""
	}
	return d.ID
}
