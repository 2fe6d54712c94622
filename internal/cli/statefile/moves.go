package statefile

import (
	"encoding/json"

	"cairn.dev/cairn/internal/engine"
)

// object identifies a real object: engines do not store in the state that an address has changed.
type object struct{ kind, provider, id string }

// moves returns the previous identity of each resource that has a new address: its old address disappeared, and the
// attribute id, the type and the provider are those of one object in each state. Where several objects of a state have
// the same ID, it does not identify one of them, and there is no move. Deposed objects do not move, but count.
func moves(before, after map[identity]Resource) map[identity]identity {
	from, to := objects(before), objects(after)
	previous := map[identity]identity{}
	for o, was := range from {
		is := to[o]
		if len(was) != 1 || len(is) != 1 || was[0].deposed != "" || is[0].deposed != "" {
			continue
		}
		_, stayed := after[was[0]]
		_, existed := before[is[0]]
		if !stayed && !existed {
			previous[is[0]] = was[0]
		}
	}
	return previous
}

// objects returns the resources of a state by what identifies them.
func objects(all map[identity]Resource) map[object][]identity {
	found := map[object][]identity{}
	for id, r := range all {
		if value := objectID(r); value != "" {
			o := object{r.Type, r.Provider, value}
			found[o] = append(found[o], id)
		}
	}
	return found
}

// objectID returns the attribute id of a resource as JSON; empty for none. It may be a secret.
func objectID(r Resource) string {
	attributes, _ := r.Attributes.(map[string]any)
	switch id := Reveal(attributes["id"]).(type) {
	case string:
		if id == "" || id == "none" { // the ID of each random_password
			return ""
		}
		return engine.Quote(id)
	case json.Number:
		return id.String()
	}
	return ""
}
