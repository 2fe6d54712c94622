package engine

import "cmp"

// Done is one thing that an apply has done to a resource.
type Done struct {
	// Address and Type of the resource.
	Address, Type string
	// Action as the engine names it.
	Action string
	// IDKey is the attribute that identifies it, and ID its value; of what was destroyed the one that is gone. Both may be empty.
	IDKey, ID string
}

func (h hook) done() Done {
	return Done{Address: h.Resource.Address, Type: h.Resource.Type, Action: h.Action, IDKey: h.IDKey, ID: h.ID}
}

// teller tells of each thing that an apply has done, as soon as the engine says so.
type teller struct {
	heard func(Done)
	// ends are what is being destroyed, by address: only the beginning of that tells the ID.
	ends map[string]Done
}

func (t *teller) of(e event) {
	if t.heard == nil || e.Hook == nil || !e.Hook.changes() {
		return
	}
	d := e.Hook.done()
	switch {
	case e.Type == "apply_start" && d.Action == string(Delete):
		if t.ends == nil {
			t.ends = map[string]Done{}
		}
		t.ends[d.Address] = d
	case e.Type == "apply_complete":
		if d.Action == string(Delete) && d.ID == "" {
			d = cmp.Or(t.ends[d.Address], d)
		}
		t.heard(d)
	}
}
