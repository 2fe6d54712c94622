// Package planfiletest creates plan files and their JSON for tests that have no engine.
package planfiletest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protowire"
)

// Actions of a plan file that tests use.
const (
	NoOp    = 0
	Create  = 1
	Update  = 3
	Delete  = 5
	Replace = 6
	Forget  = 8
)

var words = map[uint64][]string{
	NoOp: {"no-op"}, Create: {"create"}, Update: {"update"}, Delete: {"delete"}, Replace: {"delete", "create"},
	Forget: {"forget"},
}

// Provider of all resources.
const Provider = "registry.opentofu.org/hashicorp/test"

// Unknown is a value that is known after the apply.
var Unknown = msgpack.RawMessage{0xd4, 0, 0} // the extension that engines write

// TB is what a plan needs of a test.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Resource is a change of a resource in the root module.
type Resource struct {
	// Address is TYPE.NAME.
	Address       string
	Action        uint64
	Before, After map[string]any
	// Previous address of one that is moved, and ID of one that is imported.
	Previous, ImportID string
}

// Plan is the content of a plan file.
type Plan []Resource

// File is the plan file.
func (p Plan) File(t TB) []byte {
	t.Helper()
	return Zip(t, p.Message(t))
}

// Message is the plan in the file.
func (p Plan) Message(t TB) []byte {
	t.Helper()
	plan := p.append(t, Number(nil, 1, 3), 3)
	return Message(plan, 14, []byte("1.12.6"))
}

// RefreshOnly is the message of a plan with -refresh-only, whose drift this is, and what the engine shows of it with
// the member that Cairn adds.
func (p Plan) RefreshOnly(t TB) (message, shown []byte) {
	t.Helper()
	message = Number(p.append(t, Number(nil, 1, 3), 18), 17, 2)
	var all map[string]any
	if err := json.Unmarshal(p.JSON(t), &all); err != nil {
		t.Fatal(err)
	}
	all["resource_drift"], all["refresh_only"] = all["resource_changes"], true
	all["planned_values"] = map[string]any{"root_module": map[string]any{}}
	delete(all, "resource_changes")
	shown, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return Message(message, 14, []byte("1.12.6")), shown
}

// append appends the changes as elements of a field.
func (p Plan) append(t TB, plan []byte, field protowire.Number) []byte {
	t.Helper()
	for _, r := range p {
		var change, resource []byte
		change = Number(change, 1, r.Action)
		for _, value := range r.values() {
			data, err := msgpack.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			change = Message(change, 2, Message(nil, 1, data))
		}
		if r.ImportID != "" {
			change = Message(change, 5, Message(nil, 1, []byte(r.ImportID)))
		}
		resource = Message(resource, 8, []byte(`provider["`+Provider+`"]`))
		resource = Message(resource, 9, change)
		resource = Message(resource, 13, []byte(r.Address))
		if r.Previous != "" {
			resource = Message(resource, 14, []byte(r.Previous))
		}
		plan = Message(plan, field, resource)
	}
	return plan
}

// Output is a change of an output of the root module.
type Output struct {
	Name   string
	Action uint64
	// Values are those before and after the change, one of a creation and of a deletion.
	Values    []any
	Sensitive bool
}

// WithOutputs is the message of a plan that also changes outputs.
func WithOutputs(t TB, plan []byte, outputs ...Output) []byte {
	t.Helper()
	for _, o := range outputs {
		change := Number(nil, 1, o.Action)
		for _, value := range o.Values {
			data, err := msgpack.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			change = Message(change, 2, Message(nil, 1, data))
		}
		output := Message(Message(nil, 1, []byte(o.Name)), 2, change)
		if o.Sensitive {
			output = Number(output, 3, 1)
		}
		plan = Message(plan, 4, output)
	}
	return plan
}

// Zip is the archive with a message as its plan; with several there are several plans. Its states are empty.
func Zip(t TB, plans ...[]byte) []byte {
	t.Helper()
	return ZipWithStates(t, `{"resources":[]}`, `{"resources":[]}`, plans...)
}

// ZipWithStates is Zip with the state before the plan and the one that the plan found.
func ZipWithStates(t TB, before, found string, plans ...[]byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, state := range map[string]string{"tfstate-prev": before, "tfstate": found} {
		entry, err := w.Create(name)
		if err == nil {
			_, err = entry.Write([]byte(state))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, plan := range plans {
		entry, err := w.Create("tfplan")
		if err == nil {
			_, err = entry.Write(plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func (r Resource) values() []map[string]any {
	switch r.Action {
	case Create:
		return []map[string]any{r.After}
	case NoOp, Delete, Forget:
		return []map[string]any{r.Before}
	}
	return []map[string]any{r.Before, r.After}
}

// JSON is what the engine shows of the plan.
func (p Plan) JSON(t TB) []byte {
	t.Helper()
	changes, planned := []any{}, []any{}
	for _, r := range p {
		kind, name, _ := strings.Cut(r.Address, ".")
		after, unknown := known(r.After)
		if r.Action == NoOp {
			after = r.Before
		}
		change := map[string]any{"actions": words[r.Action], "before": r.Before, "after": after,
			"after_unknown": unknown}
		if r.ImportID != "" {
			change["importing"] = map[string]any{"id": r.ImportID}
		}
		resource := map[string]any{"address": r.Address, "mode": "managed", "type": kind, "name": name,
			"provider_name": Provider}
		if r.Action != Delete {
			with := map[string]any{}
			if len(after) > 0 { // as engines do
				with["values"] = after
			}
			for k, v := range resource {
				with[k] = v
			}
			planned = append(planned, with)
		}
		resource["change"] = change
		if r.Previous != "" {
			resource["previous_address"] = r.Previous
		}
		changes = append(changes, resource)
	}
	data, err := json.Marshal(map[string]any{
		"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": changes,
		"planned_values": map[string]any{"root_module": map[string]any{"resources": planned}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func known(values map[string]any) (after, unknown map[string]any) {
	if values == nil {
		return nil, map[string]any{}
	}
	after, unknown = map[string]any{}, map[string]any{}
	for k, v := range values {
		if raw, ok := v.(msgpack.RawMessage); ok && bytes.Equal(raw, Unknown) {
			unknown[k] = true
		} else {
			after[k] = v
		}
	}
	return after, unknown
}

// Number appends a field with a number.
func Number(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}

// Message appends a field with bytes, a text or a message.
func Message(to []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), data)
}
