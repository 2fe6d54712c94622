package planfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protowire"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
)

type values = map[string]any

func read(t *testing.T, p planfiletest.Plan) *planfile.File {
	t.Helper()
	f, err := planfile.Read(p.File(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// all is a plan with each kind of change.
var all = planfiletest.Plan{
	{Address: "test_disk.new", Action: planfiletest.Create, After: values{
		"id": planfiletest.Unknown, "size": 10, "big": 1.5, "on": true, "none": nil, "name": "disk",
		"tags": values{"a": "1"}, "list": []any{"x", values{"y": 2}},
	}},
	{Address: "test_disk.grown", Action: planfiletest.Update, Before: values{"size": 10}, After: values{"size": 20}},
	{Address: "test_disk.gone", Action: planfiletest.Delete, Before: values{"size": 10}},
	{Address: "test_disk.replaced", Action: planfiletest.Replace, Before: values{"zone": "a"},
		After: values{"zone": "b"}},
	{Address: "test_disk.forgotten", Action: planfiletest.Forget, Before: values{"size": 10}},
	{Address: "test_disk.same", Action: planfiletest.NoOp, Before: values{"size": 10}},
	{Address: "test_disk.moved", Action: planfiletest.NoOp, Before: values{"size": 10}, Previous: "test_disk.old"},
	{Address: "test_disk.imported", Action: planfiletest.NoOp, Before: values{"size": 10}, ImportID: "disk-7"},
	{Address: "test_disk.unknown", Action: planfiletest.Create, After: values{"id": planfiletest.Unknown}},
}

func TestDocumentIsThePlan(t *testing.T) {
	got, err := read(t, all).Document(all.JSON(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, all.JSON(t)), decoded(t, got)); diff != "" {
		t.Error(diff)
	}
}

// TestTerraformLeavesOutPlannedValuesOfWhatItForgets checks a plan whose planned_values have all but what is forgotten.
func TestTerraformLeavesOutPlannedValuesOfWhatItForgets(t *testing.T) {
	var shown map[string]any
	if err := json.Unmarshal(all.JSON(t), &shown); err != nil {
		t.Fatal(err)
	}
	module := shown["planned_values"].(values)["root_module"].(values)
	n := len(module["resources"].([]any))
	module["resources"] = slices.DeleteFunc(module["resources"].([]any), func(r any) bool {
		return r.(values)["address"] == "test_disk.forgotten"
	})
	data, err := json.Marshal(shown)
	if err != nil || len(module["resources"].([]any)) != n-1 {
		t.Fatal(n, err)
	}
	if _, err := read(t, all).Document(data); err != nil {
		t.Error(err)
	}
}

func decoded(t *testing.T, data []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return value
}

func TestChangesOfThePlanFile(t *testing.T) {
	want := engine.Changes{
		{Address: "test_disk.gone", Action: "delete"}, {Address: "test_disk.replaced", Action: "replace"},
		{Address: "test_disk.forgotten", Action: "forget"},
		{Address: "test_disk.grown", Action: "update"}, {Address: "test_disk.new", Action: "create"},
		{Address: "test_disk.unknown", Action: "create"}, {Address: "test_disk.imported", Action: "import",
			Imported: true},
		{Address: "test_disk.moved", Action: "move"},
	}
	if diff := cmp.Diff(want, read(t, all).Changes()); diff != "" {
		t.Error(diff)
	}
}

// TestForgedJSONIsRejected checks changes that an attacker could hide from approvers and policies.
func TestForgedJSONIsRejected(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"a destroy that is shown as nothing": {`"actions":["delete"]`, `"actions":["no-op"]`,
			`test_disk.gone: its actions are ["delete"] in the plan file, not ["no-op"]`},
		"a replacement that is shown as an update": {`"actions":["delete","create"]`, `"actions":["update"]`,
			"test_disk.replaced: its actions are"},
		"another value after the change": {`"size":20`, `"size":10`,
			"test_disk.grown: after the change: its value is another one"},
		"another value before the change": {`"zone":"a"`, `"zone":"b"`,
			"test_disk.replaced: before the change"},
		"a text in place of a number": {`"big":1.5`, `"big":"1.5"`, "test_disk.new: after"},
		"a boolean":                   {`"on":true`, `"on":false`, "test_disk.new: after"},
		"a value in place of null":    {`"none":null`, `"none":1`, "test_disk.new: after"},
		"a value in a map":            {`"a":"1"`, `"a":"2"`, "test_disk.new: after"},
		"a name in a map":             {`"a":"1"`, `"b":"1"`, "test_disk.new: after"},
		"a value in a list":           {`"y":2`, `"y":3`, "test_disk.new: after"},
		"a list that is shown as unknown": {`"after_unknown":{"id":true}`,
			`"after_unknown":{"id":true,"list":true}`, "test_disk.new: after"},
		"a missing element":       {`["x",{"y":2}]`, `["x"]`, "test_disk.new: after"},
		"an additional attribute": {`"on":true`, `"on":true,"off":true`, "test_disk.new: after"},
		"a missing attribute":     {`"on":true,`, ``, "test_disk.new: after"},
		"a known value that is shown as unknown": {`"after_unknown":{"id":true}`,
			`"after_unknown":{"id":true,"size":true}`, "test_disk.new: after"},
		"an unknown value that is shown as known": {`"name":"disk"`, `"name":"disk","id":"1"`, "test_disk.new: after"},
		"an unknown value that is not shown": {`"after_unknown":{"id":true}`, `"after_unknown":{}`,
			"test_disk.new: after"},
		"another type": {`"address":"test_disk.gone","change"`,
			`"address":"test_disk.other","change"`, "the plan file has no change of test_disk.other"},
		"another name": {`"mode":"managed","name":"moved"`, `"mode":"data","name":"moved"`,
			"test_disk.moved"},
		"a move from elsewhere": {`"test_disk.old"`, `"test_disk.older"`,
			"test_disk.moved is another resource in the plan file"},
		"an import of another ID": {`"disk-7"`, `"disk-8"`,
			"test_disk.imported: its import is another one"},
		"another version of the engine": {`"1.12.6"`, `"1.12.5"`,
			`engine version "1.12.5", in the plan file "1.12.6"`},
		"another planned value": {`"values":{"size":20}`, `"values":{"size":21}`,
			"planned_values: test_disk.grown"},
		"another provider of a planned value": {`"provider_name":"` + planfiletest.Provider,
			`"provider_name":"other`, "planned_values: the plan file has no such resource"},
		"not a list": {`"resource_changes":[`, `"resource_changes":7,"x":[`,
			"a list of changes is none"},
		"not a plan": {`{`, ``, "it is not the JSON of a plan"},
		"a value that is hidden": {`"name":"disk"`, `"name":"(sensitive value)"`,
			"test_disk.new: after"},
		"a part that is hidden":          {`"name":"disk"`, `"name":"d(sensitive)k"`, "test_disk.new: after"},
		"a map that is hidden":           {`{"a":"1"}`, `"(sensitive value)"`, "test_disk.new: after"},
		"a name in a map that is hidden": {`{"a":"1"}`, `{"(sensitive)":"1"}`, "test_disk.new: after"},
		"an address that is hidden": {`"test_disk.grown"`, `"test_disk.g(sensitive)wn"`,
			"has no change of test_disk.g(sensitive)wn"},
		"a mark of an attribute that is not there": {`"after_unknown":{"id":true}`,
			`"after_unknown":{"id":true,"tape":true}`, "test_disk.new: after"},
		"an instance that is none": {`"name":"gone"`, `"index":0,"name":"gone"`,
			"test_disk.gone is another resource"},
		"another list before the real one": {`"resource_changes":[`, `"resource_changes":[],"resource_changes":[`,
			`it has "resource_changes" twice`},
	} {
		t.Run(name, func(t *testing.T) {
			shown := all.JSON(t)
			at := bytes.Index(shown, []byte(`"resource_changes"`)) // what is planned comes before
			if strings.HasPrefix(test.want, "planned") || test.from == "{" {
				at = 0
			}
			lie := append(bytes.Clone(shown[:at]), bytes.Replace(shown[at:], []byte(test.from), []byte(test.to), 1)...)
			if bytes.Equal(shown, lie) {
				t.Fatalf("no %s in %s", test.from, shown)
			}
			_, err := read(t, all).Document(lie)
			if mismatch := (*planfile.Mismatch)(nil); !errors.As(err, &mismatch) ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestMissingChangeIsRejected(t *testing.T) {
	for i, left := range all {
		rest := append(append(planfiletest.Plan{}, all[:i]...), all[i+1:]...)
		_, err := read(t, all).Document(rest.JSON(t))
		if want := left.Address + " in the plan file is missing"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := read(t, rest).Document(all.JSON(t)); err == nil ||
			!strings.Contains(err.Error(), "has no change of "+left.Address) {
			t.Errorf("a change that the file lacks: %v", err)
		}
	}
}

// TestMembersThatAreNotKnownAreLeftOut checks names that some programs take for others: encoding/json for a struct does
// not compare the case of letters, policies do.
func TestMembersThatAreNotKnownAreLeftOut(t *testing.T) {
	for name, replace := range map[string][2]string{
		"a list in other letters": {`"resource_changes":[`,
			`"RESOURCE_CHANGES":[{"address":"a.b"}],"resource_changes":[`},
		"a list behind the real one": {`"terraform_version"`, `"Resource_Changes":[],"terraform_version"`},
		"actions in other letters": {`"actions":["delete"]`,
			`"actions":["delete"],"action\u017f":["no-op"],"ACTIONS":["no-op"]`},
		"a change in other letters": {`"change":`, `"Change":{"actions":["no-op"]},"change":`},
		"an address": {`"address":"test_disk.gone"`,
			`"Address":"test_disk.kept","address":"test_disk.gone"`},
		"a member that no engine has":     {`"terraform_version"`, `"approved":true,"terraform_version"`},
		"a number that is printed longer": {`"size":20`, `"size":2.0e1`},
	} {
		t.Run(name, func(t *testing.T) {
			shown := bytes.ReplaceAll(all.JSON(t), []byte(replace[0]), []byte(replace[1]))
			got, err := read(t, all).Document(shown)
			if err != nil || bytes.Equal(shown, all.JSON(t)) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, all.JSON(t)), decoded(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlanFilesThatProgramsReadInSeveralWays checks that a plan file which another program could read in another way is
// not read.
func TestPlanFilesThatProgramsReadInSeveralWays(t *testing.T) {
	plan := all.Message(t)
	with := func(extra []byte) []byte { return planfiletest.Zip(t, append(bytes.Clone(plan), extra...)) }
	field := func(n protowire.Number, data ...byte) []byte { return planfiletest.Message(nil, n, data) }
	// resource is a resource with a change of these bytes.
	resource := func(change ...byte) []byte {
		return field(3, append(field(13, []byte("test_disk.last")...), change...)...)
	}
	deletion := planfiletest.Message(planfiletest.Number(nil, 1, planfiletest.Delete), 2, field(1, 0x80))
	nested := msgpack.RawMessage(bytes.Repeat([]byte{0x91}, 1<<20)) // lists of one list
	last := func(b []byte, to ...byte) []byte { return append(bytes.Clone(b), to...) }
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"a deletion that is a no-op for a reader which ignores types": {
			with(resource(field(9, last(deletion, 0x0a, 0)...)...)), "field 1 of Change has another type"},
		"an action that is there twice": {
			with(resource(field(9, last(deletion, 0x08, 0)...)...)), "field 1 of Change is there twice"},
		"an action that is cut to 32 bits": {
			with(resource(field(9, planfiletest.Message(planfiletest.Number(nil, 1, 1<<32), 2, field(1, 0x80))...)...)),
			"field 1 of Change has a value that is not known"},
		"an action that is written longer": {
			with(resource(field(9, append([]byte{0x08, 0x85, 0x00}, field(2, field(1, 0x80)...)...)...)...)),
			"longer than needed"},
		"a change with two changes": {with(resource(last(field(9, deletion...), field(9)...)...)),
			"field 9 of ResourceInstanceChange is there twice"},
		"a resource without a change": {with(resource()), "it has no values for test_disk.last"},
		"an address that is no text":  {with(field(3, field(13, 0xff)...)), "is not in UTF-8"},
		"a field that is not known":   {with(field(99)), "field 99 of Plan is not known"},
		"a field that is not known, in a change": {with(resource(field(9, last(deletion, field(99)...)...)...)),
			"field 99 of Change is not known"},
		"a group":             {with([]byte{0x0b, 0x0c}), "has a type that no field has"},
		"a number of 64 bits": {with([]byte{0x09, 1, 2, 3, 4, 5, 6, 7, 8}), "has a type that no field has"},
		"the version, twice":  {with(planfiletest.Number(nil, 1, 3)), "field 1 of Plan is there twice"},
		"a path with two steps in one": {
			with(resource(field(11, field(1, last(field(1, 'a'), field(2)...)...)...)...)),
			"field 2 of Path.Step is there twice"},
		"a resource that changes twice": {last(planfiletest.Plan{all[0], all[1], all[0]}.File(t)),
			"it changes test_disk.new twice"},
		"an output that changes twice": {with(append(output("a"), output("a")...)),
			"it does not change the output a once"},
		"a variable that is set twice": {with(append(field(2, field(1, 'v')...), field(2, field(1, 'v')...)...)),
			"it has the variable v twice"},
		"an action of a provider, twice": {with(append(invocation("x"), invocation("x")...)),
			"it invokes action.test_call.x twice"},
		"values that nest too deep": {
			planfiletest.Plan{{Address: "a.b", Action: planfiletest.Create, After: values{"a": nested}}}.File(t),
			"its values are nested too deep"},
		"an encrypted plan": {[]byte(`{"meta":{},"encrypted_data":"x"}`),
			"such as a plan that the code encrypts"},
		"another archive": {planfiletest.Zip(t, nil)[:10], "it is no zip archive"},
		"two plans":       {planfiletest.Zip(t, plan, plan), "it has 2 plans"},
		"a later format": {planfiletest.Zip(t, planfiletest.Number(nil, 1, 4)),
			"its format is version 4, and version 3 is known"},
		"not Protocol Buffers":        {planfiletest.Zip(t, []byte{0xff}), ""},
		"one that is larger unpacked": {planfiletest.Zip(t, large(t)), "its plan has more than 32 MiB"},
		"a field that is too large": {
			planfiletest.Zip(t, planfiletest.Message(nil, 21, make([]byte, planfile.Largest))),
			"its plan has more than 32 MiB"},
		"a number without an end": {planfiletest.Zip(t, bytes.Repeat([]byte{0xff}, 100)), ""},
		"a field that ends early": {planfiletest.Zip(t, plan[:len(plan)-1]), "unexpected EOF"},
		"an action that is not known": {planfiletest.Plan{{Address: "a.b", Action: 77, Before: values{}}}.File(t),
			"action 77 with 2 values is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := planfile.Read(test.data); !errors.Is(err, planfile.ErrUnreadable) ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// large is a plan of more than 32 MiB.
func large(t *testing.T) []byte {
	t.Helper()
	return append(all.Message(t), bytes.Repeat(planfiletest.Message(nil, 16, bytes.Repeat([]byte("a"), 1<<20)), 32)...)
}

// TestChangesOfALargePlanAreRead checks that the limit is one of the values: what is decided on is read of plans that
// are larger.
func TestChangesOfALargePlanAreRead(t *testing.T) {
	file, err := planfile.ReadChanges(planfiletest.Zip(t, large(t)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, all).Changes(), file.Changes()); diff != "" {
		t.Error(diff)
	}
	tooLarge := planfiletest.Zip(t, planfiletest.Message(nil, 21, make([]byte, planfile.Largest)))
	if _, err := planfile.ReadChanges(tooLarge); err == nil || !strings.Contains(err.Error(), "more than 32 MiB") {
		t.Errorf("a field of 32 MiB: %v", err)
	}
}

// output is a change of an output that stays.
func output(name string) []byte {
	change := planfiletest.Message(nil, 2, planfiletest.Message(nil, 1, []byte{0xa1, 'v'}))
	return planfiletest.Message(nil, 4, planfiletest.Message(planfiletest.Message(nil, 1, []byte(name)), 2, change))
}

// invocation is an action that the update of test_disk.grown triggers.
func invocation(name string) []byte {
	trigger := planfiletest.Number(planfiletest.Message(nil, 1, []byte("test_disk.grown")), 2, 4)
	action := planfiletest.Message(nil, 1, []byte("action.test_call."+name))
	action = planfiletest.Message(action, 2, []byte(`provider["`+planfiletest.Provider+`"]`))
	action = planfiletest.Message(action, 4, planfiletest.Message(nil, 1, []byte{0x81, 0xa1, 'f', 0xa1, 'g'}))
	return planfiletest.Message(nil, 30, planfiletest.Message(action, 6, trigger))
}

// TestActionsOfProviders checks what Terraform 1.14 has added: an apply that invokes an action.
func TestActionsOfProviders(t *testing.T) {
	const shown = `"action_invocations":[{"address":"action.test_call.x","type":"test_call","name":"x","provider_name":"` +
		planfiletest.Provider +
		`","config_values":{"f":"g"},"config_unknown":{},"lifecycle_action_trigger":{"actions_list_index":0,` +
		`"action_trigger_block_index":0,"action_trigger_event":"AfterUpdate","triggering_resource_address":"test_disk.grown"}}],`
	file, err := planfile.Read(planfiletest.Zip(t, append(all.Message(t), invocation("x")...)))
	if err != nil {
		t.Fatal(err)
	}
	if n := file.Changes().Counts(); n.Invoke != 1 || n.Change != 1 {
		t.Errorf("counts %+v, want 1 to invoke", n)
	}
	document := func(actions string) error {
		_, err := file.Document(append([]byte("{"+actions), all.JSON(t)[1:]...))
		return err
	}
	if err := document(shown); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct{ actions, want string }{
		"one that is not shown": {"", "that of action.test_call.x in the plan file is missing"},
		"another action": {strings.ReplaceAll(shown, "test_call.x", "test_call.y"),
			"does not invoke action.test_call.y so"},
		"another type": {strings.Replace(shown, `"type":"test_call"`, `"type":"test_log"`, 1),
			"is another action"},
		"another value": {strings.Replace(shown, `"f":"g"`, `"f":"h"`, 1), "its value is another one"},
		"another trigger": {strings.Replace(shown, "grown", "same", 1),
			"does not invoke action.test_call.x so"},
		"another event": {strings.Replace(shown, "AfterUpdate", "AfterCreate", 1),
			"does not invoke action.test_call.x so"},
		"one that nothing triggers": {strings.Split(shown, `,"lifecycle`)[0] + "}],",
			"does not invoke action.test_call.x so"},
		"an action too many": {strings.Replace(shown, "[{", `[{"address":"action.test_call.y"},{`, 1),
			"does not invoke action.test_call.y so"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := document(test.actions); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestPlanThatIsNotComplete(t *testing.T) {
	target := func(n protowire.Number, names ...string) (fields []byte) {
		for _, name := range names {
			fields = planfiletest.Message(fields, n, []byte(name))
		}
		return fields
	}
	deferred := planfiletest.Message(nil, 27,
		planfiletest.Message(planfiletest.Message(nil, 1, planfiletest.Number(nil, 1, 4)), 2,
			planfiletest.Message(planfiletest.Message(nil, 13, []byte("test_disk.later")), 9,
				planfiletest.Message(planfiletest.Number(nil, 1,
					planfiletest.Create), 2, planfiletest.Message(nil, 1, []byte{0x80})))))
	for name, test := range map[string]struct {
		fields []byte
		want   string
	}{
		"all":      {nil, ""},
		"complete": {planfiletest.Number(planfiletest.Number(nil, 25, 1), 26, 1), ""},
		"targets":  {target(5, "a.b", "c.d"), "it has only the targets a.b, c.d"},
		"many targets": {target(5, "a", "b", "c", "d", "e"),
			"it has only the targets a, b, c and 2 more"},
		"excluded": {target(6, "a.b"), "it leaves out a.b"},
		"deferred": {deferred, "it defers test_disk.later"},
		"refreshes the state alone": {planfiletest.Number(nil, 17, 2),
			"it only writes to the state what changed outside of Cairn (-refresh-only)"},
		"a destroy":                        {planfiletest.Number(nil, 17, 1), ""},
		"an error":                         {planfiletest.Number(nil, 20, 1), "it ended with an error"},
		"incomplete for an unknown reason": {planfiletest.Number(nil, 25, 1), "it is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := planfile.Read(planfiletest.Zip(t, append(all.Message(t), test.fields...)))
			if err != nil {
				t.Fatal(err)
			}
			if got := file.Partial(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(all.File(f), all.JSON(f))
	f.Fuzz(func(t *testing.T, data, shown []byte) {
		if file, err := planfile.Read(data); err == nil {
			_, _ = file.Document(shown)
			_ = file.Changes()
		}
	})
}
