package statefile

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	stdcmp "cmp"

	"github.com/google/go-cmp/cmp"
)

// TestCompareCases has the cases of testdata/compare.json, which the tests of the web UI have too.
func TestCompareCases(t *testing.T) {
	type resource struct {
		Module, Mode, Type, Name, Provider, Deposed string
		Key                                         any
		Attributes                                  json.RawMessage
		Sensitive                                   []string
	}
	var cases []struct {
		Name     string
		From, To []resource
		Want     []string
	}
	data, err := os.ReadFile("testdata/compare.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	state := func(resources []resource) *State {
		var all []any
		for _, r := range resources {
			paths := [][]any{}
			for _, name := range r.Sensitive {
				paths = append(paths, []any{map[string]any{"type": "get_attr", "value": name}})
			}
			instance := map[string]any{"attributes": r.Attributes, "sensitive_attributes": paths, "deposed": r.Deposed}
			if r.Key != nil {
				instance["index_key"] = r.Key
			}
			all = append(all, map[string]any{
				"module": r.Module, "mode": stdcmp.Or(r.Mode, "managed"), "type": stdcmp.Or(r.Type, "t"),
				"name":     r.Name,
				"provider": stdcmp.Or(r.Provider, `provider["x/y"]`), "instances": []any{instance},
			})
		}
		data, err := json.Marshal(map[string]any{
			"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "resources": all,
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	words := map[string]string{Added: "create", Removed: "delete", Changed: "update", Moved: "move"}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			d := Compare(state(c.From), state(c.To))
			got := []string{}
			for _, r := range d.Resources {
				line := words[r.Action] + " " + r.Address
				if r.Deposed != "" {
					line += " (" + r.Deposed + ")"
				}
				if r.Previous != "" {
					line += " from " + r.Previous
				}
				var paths []string
				for _, a := range r.Attributes {
					paths = append(paths, a.Path)
				}
				if len(paths) > 0 {
					line += ": " + strings.Join(paths, ", ")
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Error(diff)
			}
			var out bytes.Buffer
			if err := d.Write(&out, Style{}); err != nil {
				t.Fatal(err)
			}
			shown, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"horse", "battery", "staple"} {
				if strings.Contains(out.String()+string(shown), secret) {
					t.Errorf("%s is shown:\n%s%s", secret, out.String(), shown)
				}
			}
		})
	}
}

func TestMovesAreWritten(t *testing.T) {
	at := func(name, size string) *State {
		s, err := Parse([]byte(
			`{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "resources": [
			{"mode": "managed", "type": "t", "name": "` + name + `", "provider": "p",
				"instances": [{"attributes": {"id": "i-1", "size": ` + size + `}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var out bytes.Buffer
	if err := Compare(at("a", "1"), at("b", "2")).Write(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	want := `Moved (1):
  > t.b (moved from t.a)
      ~ size = 1 -> 2

0 added, 0 removed, 0 changed, 1 moved
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
