package planfile_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan/planfile"
)

// FuzzDocument checks that whatever text is accepted as the JSON of a plan, what policies and users get of it is the
// plan file: the same changes, planned values and version, and nothing that another program could read in another way.
func FuzzDocument(f *testing.F) {
	shown := all.JSON(f)
	f.Add(shown)
	for _, replace := range [][2]string{
		{`"actions":["delete"]`, `"actions":["delete"],"action\u017f":["no-op"]`},
		{`"resource_changes":[`, `"RESOURCE_CHANGES":[],"resource_changes":[`},
		{`"resource_changes":[`, `"resource_changes":[],"resource_changes":[`},
		{`"change":`, `"Change":{"actions":["no-op"]},"change":`},
		{`"size":20`, `"size":2.0e1`},
		{`"size":20`, `"size":20.000000000000000000000000000001`},
		{`"address":"test_disk.gone"`, `"address":"test_disk.gone","address":"test_disk.other"`},
		{`"name":"disk"`, `"name":"\ud800disk"`},
		{`"a":"1"`, `"a":"1","A":"2"`},
		{`"terraform_version"`, `"checks":[{"a":1,"a":2}],"terraform_version"`},
	} {
		f.Add(bytes.ReplaceAll(shown, []byte(replace[0]), []byte(replace[1])))
	}
	var want map[string]any
	if err := json.Unmarshal(shown, &want); err != nil {
		f.Fatal(err)
	}
	data := all.File(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := planfile.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		document, err := file.Document(raw)
		if err != nil {
			return
		}
		got := map[string]any{}
		if err := json.Unmarshal(document, &got); err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		for _, part := range []string{"terraform_version", "resource_changes", "planned_values"} {
			if diff := cmp.Diff(without(want[part]), without(got[part])); diff != "" {
				t.Errorf("%s of %s is not that of the plan file: %s", part, raw, diff)
			}
		}
		if again, err := file.Document(document); err != nil || !bytes.Equal(again, document) {
			t.Errorf("the document of %s has another one: %v\n%s\n%s", raw, err, document, again)
		}
	})
}

// without is a value without the members that are null or empty: an engine may leave them out.
func without(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		list, _ := value.([]any)
		for i := range list {
			list[i] = without(list[i])
		}
		return value
	}
	for name, member := range object {
		switch member := without(member).(type) {
		case nil:
			delete(object, name)
		case map[string]any:
			if len(member) == 0 {
				delete(object, name)
			}
		}
	}
	return object
}
