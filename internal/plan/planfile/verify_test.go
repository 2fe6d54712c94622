package planfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protowire"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/plan"
	"cairn.dev/cairn/internal/plan/planfile"
	"cairn.dev/cairn/internal/plan/planfile/planfiletest"
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
	{Address: "test_disk.replaced", Action: planfiletest.Replace, Before: values{"zone": "a"}, After: values{"zone": "b"}},
	{Address: "test_disk.forgotten", Action: planfiletest.Forget, Before: values{"size": 10}},
	{Address: "test_disk.same", Action: planfiletest.NoOp, Before: values{"size": 10}},
	{Address: "test_disk.moved", Action: planfiletest.NoOp, Before: values{"size": 10}, Previous: "test_disk.old"},
	{Address: "test_disk.imported", Action: planfiletest.NoOp, Before: values{"size": 10}, ImportID: "disk-7"},
}

func TestJSONMatchesThePlanFile(t *testing.T) {
	if err := read(t, all).Verify(all.JSON(t)); err != nil {
		t.Error(err)
	}
}

func TestChangesOfThePlanFile(t *testing.T) {
	want := engine.Changes{
		{Address: "test_disk.gone", Action: "delete"}, {Address: "test_disk.replaced", Action: "replace"}, {Address: "test_disk.forgotten", Action: "forget"},
		{Address: "test_disk.grown", Action: "update"}, {Address: "test_disk.new", Action: "create"}, {Address: "test_disk.imported", Action: "import", Imported: true},
		{Address: "test_disk.moved", Action: "move"},
	}
	if diff := cmp.Diff(want, read(t, all).Changes()); diff != "" {
		t.Error(diff)
	}
}

// TestForgedJSONIsRejected checks changes that an attacker could hide from approvers and policies.
func TestForgedJSONIsRejected(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"a destroy that is shown as nothing":             {`"actions":["delete"]`, `"actions":["no-op"]`, `test_disk.gone: its actions are ["delete"] in the plan file, not ["no-op"]`},
		"a replacement that is shown as an update":       {`"actions":["delete","create"]`, `"actions":["update"]`, "test_disk.replaced: its actions are"},
		"another value after the change":                 {`"size":20`, `"size":10`, "test_disk.grown: after the change: its value is another one"},
		"another value before the change":                {`"zone":"a"`, `"zone":"b"`, "test_disk.replaced: before the change"},
		"a text in place of a number":                    {`"big":1.5`, `"big":"1.5"`, "test_disk.new: after"},
		"a boolean":                                      {`"on":true`, `"on":false`, "test_disk.new: after"},
		"a value in place of null":                       {`"none":null`, `"none":1`, "test_disk.new: after"},
		"a value in a map":                               {`"a":"1"`, `"a":"2"`, "test_disk.new: after"},
		"a name in a map":                                {`"a":"1"`, `"b":"1"`, "test_disk.new: after"},
		"a value in a list":                              {`"y":2`, `"y":3`, "test_disk.new: after"},
		"a list that is shown as unknown":                {`"after_unknown":{"id":true}`, `"after_unknown":{"id":true,"list":true}`, "test_disk.new: after"},
		"a missing element":                              {`["x",{"y":2}]`, `["x"]`, "test_disk.new: after"},
		"an additional attribute":                        {`"on":true`, `"on":true,"off":true`, "test_disk.new: after"},
		"a missing attribute":                            {`"on":true,`, ``, "test_disk.new: after"},
		"a known value that is shown as unknown":         {`"after_unknown":{"id":true}`, `"after_unknown":{"id":true,"size":true}`, "test_disk.new: after"},
		"an unknown value that is shown as known":        {`"name":"disk"`, `"name":"disk","id":"1"`, "test_disk.new: after"},
		"an unknown value that is not shown":             {`"after_unknown":{"id":true}`, `"after_unknown":{}`, "test_disk.new: after"},
		"another type":                                   {`"address":"test_disk.gone","change"`, `"address":"test_disk.other","change"`, "the plan file has no change of test_disk.other"},
		"another name":                                   {`"mode":"managed","name":"moved"`, `"mode":"data","name":"moved"`, "test_disk.moved"},
		"a move from elsewhere":                          {`"test_disk.old"`, `"test_disk.older"`, "test_disk.moved is another resource in the plan file"},
		"an import of another ID":                        {`"disk-7"`, `"disk-8"`, "test_disk.imported: its import is another one"},
		"another version of the engine":                  {`"1.12.6"`, `"1.12.5"`, `engine version "1.12.5", in the plan file "1.12.6"`},
		"another planned value":                          {`"values":{"size":20}`, `"values":{"size":21}`, "planned_values: test_disk.grown"},
		"not a list":                                     {`"resource_changes":[`, `"resource_changes":7,"x":[`, "a list of changes is none"},
		"not a plan":                                     {`{`, ``, "it is not the JSON of a plan"},
		"a part that is hidden, with another text at it": {`"name":"disk"`, `"name":"tape(sensitive)"`, "test_disk.new: after"},
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
			err := read(t, all).Verify(lie)
			if mismatch := (*planfile.Mismatch)(nil); !errors.As(err, &mismatch) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestMissingChangeIsRejected(t *testing.T) {
	for i, left := range all {
		rest := append(append(planfiletest.Plan{}, all[:i]...), all[i+1:]...)
		err := read(t, all).Verify(rest.JSON(t))
		if want := left.Address + " in the plan file is missing"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := read(t, rest).Verify(all.JSON(t)); err == nil || !strings.Contains(err.Error(), "has no change of "+left.Address) {
			t.Errorf("a change that the file lacks: %v", err)
		}
	}
}

func TestRedactedJSONIsAccepted(t *testing.T) {
	for name, replace := range map[string][2]string{
		"a sensitive value":                  {`"name":"disk"`, `"name":"` + plan.Hidden + `"`},
		"a sensitive value that changes":     {`"size":20`, `"size":"` + plan.HiddenChanged + `"`},
		"a whole map":                        {`{"a":"1"}`, `"` + plan.Hidden + `"`},
		"a secret in a text":                 {`"name":"disk"`, `"name":"d(sensitive)k"`},
		"two secrets in a text":              {`"name":"disk"`, `"name":"(sensitive)i(sensitive)"`},
		"a text that contains the redaction": {`"zone":"b"`, `"zone":"(sensitive) (changed)"`},
		"a secret in the name in a map":      {`{"a":"1"}`, `{"(sensitive)":"1"}`},
		"a secret in an address":             {`test_disk.grown`, `test_disk.g(sensitive)wn`},
		"a number that is printed longer":    {`"size":20`, `"size":2.0e1`},
	} {
		t.Run(name, func(t *testing.T) {
			shown := bytes.ReplaceAll(all.JSON(t), []byte(replace[0]), []byte(replace[1]))
			shown = bytes.ReplaceAll(shown, []byte(`"name":"grown"`), []byte(`"name":"`+map[bool]string{true: "g(sensitive)wn", false: "grown"}[name == "a secret in an address"]+`"`))
			if err := read(t, all).Verify(shown); err != nil || bytes.Equal(shown, all.JSON(t)) {
				t.Error(err)
			}
		})
	}
}

func TestInvalidPlanFiles(t *testing.T) {
	version := func(n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), n)
	}
	twice := append(append(planfiletest.Plan{}, all...), all[0])
	nested := msgpack.RawMessage(bytes.Repeat([]byte{0x91}, 1<<20)) // lists of one list
	field := func(n protowire.Number, data ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), data)
	}
	change := field(9, append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), field(2)...)...)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"values that nest too deep":     {planfiletest.Plan{{Address: "a.b", Action: planfiletest.Create, After: values{"a": nested}}}.File(t), "its values are nested too deep"},
		"a change with two changes":     {planfiletest.Zip(t, append(version(3), field(3, append(change, change...)...)...)), "a change has its values twice"},
		"an encrypted plan":             {[]byte(`{"meta":{},"encrypted_data":"x"}`), "such as a plan that the code encrypts"},
		"another archive":               {planfiletest.Zip(t, nil)[:10], "it is no zip archive"},
		"a later format":                {planfiletest.Zip(t, version(4)), "its format is version 4, and version 3 is known"},
		"not Protocol Buffers":          {planfiletest.Zip(t, []byte{0xff}), ""},
		"one that is larger unpacked":   {planfiletest.Zip(t, make([]byte, planfile.Largest+1)), "its plan has more than 32 MiB"},
		"an action that is not known":   {planfiletest.Plan{{Address: "a.b", Action: 77, Before: values{}}}.File(t), "action 77 with 2 values is not known"},
		"a resource that changes twice": {twice.File(t), "it changes test_disk.new twice"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := planfile.Read(test.data)
			if err == nil {
				err = f.Verify(all.JSON(t))
			}
			if !errors.Is(err, planfile.ErrUnreadable) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(all.File(f), all.JSON(f))
	f.Fuzz(func(t *testing.T, data, shown []byte) {
		if file, err := planfile.Read(data); err == nil {
			_ = file.Verify(shown)
			_ = file.Changes()
		}
	})
}
