package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// The states in testdata are written by OpenTofu, and list.txt is the output of `tofu state list` for before.tfstate.
func load(t *testing.T, name string) *State {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfResources(t *testing.T) {
	var list strings.Builder
	for _, r := range load(t, "before.tfstate").Resources {
		list.WriteString(r.Address + "\n")
	}
	want, err := os.ReadFile("testdata/list.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	var out bytes.Buffer
	for _, r := range load(t, "after.tfstate").Resources {
		if err := WriteResource(&out, r, Style{}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "show.txt", out.String())
	if strings.Contains(out.String(), "horse") {
		t.Error("a secret is shown")
	}
}

func TestReveal(t *testing.T) {
	found := load(t, "after.tfstate").Find("terraform_data.pw")
	if len(found) != 1 {
		t.Fatalf("%d resources", len(found))
	}
	found[0].Attributes = Reveal(found[0].Attributes)
	var out bytes.Buffer
	if err := WriteResource(&out, found[0], Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), `"other-horse"`) != 2 {
		t.Error(out.String())
	}
}

func TestSecretsAreMaskedInJSON(t *testing.T) {
	var all []any
	s := load(t, "after.tfstate")
	for _, r := range s.Resources {
		all = append(all, r.Attributes)
	}
	data, err := json.Marshal([]any{all, s.Outputs, Compare(load(t, "before.tfstate"), s)})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("horse")) || !bytes.Contains(data, []byte(Masked)) {
		t.Errorf("%s", data)
	}
}

func TestCompare(t *testing.T) {
	before, after := load(t, "before.tfstate"), load(t, "after.tfstate")
	for name, d := range map[string]Difference{
		"diff.txt": Compare(before, after), "diff-back.txt": Compare(after, before),
		"diff-none.txt":  Compare(after, after),
		"diff-first.txt": Compare(&State{}, before),
	} {
		var out bytes.Buffer
		if err := d.Write(&out, Style{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
		if strings.Contains(out.String(), "horse") {
			t.Errorf("%s: a secret is shown", name)
		}
	}
	var out bytes.Buffer
	if err := Compare(before, after).Write(&out, Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff-color.txt", out.String())
}

// resource returns a state with one resource.
func resource(t *testing.T, attributes string, sensitive string) *State {
	t.Helper()
	s, err := Parse([]byte(`{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "resources": [{"mode": "managed", "type": "t", "name": "n",
		"provider": "p", "instances": [{"attributes": ` + attributes + `, "sensitive_attributes": ` +
		sensitive + `}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMask(t *testing.T) {
	for name, c := range map[string]struct{ attributes, sensitive, want string }{
		"what the state marks": {
			`{"a": "one-secret", "b": "open"}`, `[[{"type": "get_attr", "value": "a"}]]`,
			`{"a": "(sensitive value)", "b": "open"}`,
		},
		"an element of a list": {
			`{"a": ["open", "two"]}`,
			`[[{"type": "get_attr", "value": "a"}, {"type": "index", "value": {"value": 1, "type": "number"}}]]`,
			`{"a": ["open", "(sensitive value)"]}`,
		},
		"a number": {
			`{"a": {"pin": 1234, "n": 5}}`,
			`[[{"type": "get_attr", "value": "a"}, {"type": "index", "value": {"value": "pin", "type": "string"}}]]`,
			`{"a": {"pin": "(sensitive value)", "n": 5}}`,
		},
		"all of what a way leads to that cannot be followed": {
			`{"a": {"set": ["x", "y"], "b": "open"}}`,
			`[[{"type": "get_attr", "value": "a"}, {"type": "get_attr", "value": "set"}, {"type": "index", "value": {"value": "x", "type": "string"}}]]`,
			`{"a": {"set": "(sensitive value)", "b": "open"}}`,
		},
		"all of it for an unknown path": {
			`{"a": "x", "b": "y"}`, `[[{"type": "splat", "value": {"x": []}}]]`,
			`"(sensitive value)"`,
		},
		"the same value elsewhere": {
			`{"a": "correct horse", "b": "use correct horse here"}`, `[[{"type": "get_attr", "value": "a"}]]`,
			`{"a": "(sensitive value)", "b": "(sensitive value)"}`,
		},
		"a text with a telling name, also far below, but no count": {
			`{"master_password": "x", "Tokens": {"a": {"b": "x"}}, "password_length": 16, "api_key": "", "secret": null}`, `[]`,
			`{"master_password": "(sensitive value)", "Tokens": {"a": {"b": "(sensitive value)"}}, "password_length": 16, "api_key": "", "secret": null}`,
		},
		"within a value of any type": {
			`{"input": {"value": {"a": "deep-secret", "b": "open"}, "type": ["object", {"a": "string", "b": "string"}]}}`,
			`[[{"type": "get_attr", "value": "input"}, {"type": "get_attr", "value": "a"}]]`,
			`{"input": {"value": {"a": "(sensitive value)", "b": "open"}, "type": ["object", {"a": "string", "b": "string"}]}}`,
		},
		"a part of what has a type and a value of its own": {
			`{"record": {"value": "v=spf1", "type": "TXT"}}`,
			`[[{"type": "get_attr", "value": "record"}, {"type": "get_attr", "value": "value"}]]`,
			`{"record": {"value": "(sensitive value)", "type": "TXT"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(resource(t, c.attributes, c.sensitive).Resources[0].Attributes)
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if err := json.Unmarshal(got, &a); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompareMasksValuesSecretInOneState(t *testing.T) {
	marked := resource(t, `{"a": {"x": "first-secret"}, "l": ["first", "of-list"]}`,
		`[[{"type": "get_attr", "value": "a"}, {"type": "get_attr", "value": "x"}], [{"type": "get_attr", "value": "l"}, {"type": "index", "value": 1}]]`)
	open := resource(t, `{"a": {"x": "second-value"}, "l": ["third"]}`, `[]`)
	for _, d := range []Difference{Compare(marked, open), Compare(open, marked)} {
		var out bytes.Buffer
		if err := d.Write(&out, Style{}); err != nil {
			t.Fatal(err)
		}
		want := "Changed (1):\n  ~ t.n\n      ~ a.x = (sensitive value)\n      ~ l = (sensitive value)\n\n0 added, 0 " +
			"removed, 1 changed, 0 moved\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPrintable(t *testing.T) {
	s, err := Parse([]byte(`{"version": 4, "serial": 1, "lineage": "l", "outputs": {"o\u001b[2J": {"value": "\u009b2J"}}, "resources": [{"mode": "managed", "module": "module.m\u001b[2J",
		"type": "t\u001b", "name": "n", "provider": "p\u001b", "instances": [
		{"index_key": "k\u001b[2J\u202e", "deposed": "d\u001b", "attributes": {"a\u001b": "one\n\u001b[2J\nthree\n", "b": "\u001b]0;x\u0007", "c": {"\u001b": ["\u001b"]}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := errors.Join(WriteResource(&out, s.Resources[0], Style{}),
		Compare(&State{}, s).Write(&out, Style{})); err != nil {
		t.Fatal(err)
	}
	out.WriteString(s.Resources[0].Address)
	if strings.ContainsFunc(out.String(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		t.Errorf("%q", out.String())
	}
}

func TestParseErrors(t *testing.T) {
	if _, err := Parse([]byte(
		`{"serial": 3, "lineage": "l", "encryption_version": "v0", "encrypted_data": "AAAA", "meta": {}}`)); !errors.Is(
		err, ErrEncrypted) {
		t.Error(err)
	}
	for name, state := range map[string]string{
		"another format": `{"version": 3}`, "no JSON": `tofu`, "a list": `[]`,
		"attributes that are no JSON": `{"version": 4, "resources": [{"instances": [{"attributes": x}]}]}`,
	} {
		if _, err := Parse([]byte(state)); err == nil || errors.Is(err, ErrEncrypted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBelow(t *testing.T) {
	s := load(t, "before.tfstate")
	for address, want := range map[string]int{"module.net": 2, "module.net[0]": 1, "terraform_data.many": 11,
		"terraform_data.man": 0, "module.net[0].terraform_data.subnet": 0} {
		if got := len(s.Below(address)); got != want {
			t.Errorf("%s: %d, not %d", address, got, want)
		}
	}
}

// FuzzState checks that any state can be read, compared and printed, without control sequences in the output.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":4,"outputs":{"o":{"value":1}},"resources":[{"mode":"managed","type":"t","name":"n","instances":[{"index_key":1,"attributes":{"a":["x"],"d":{"value":{"b":"y"},"type":"dynamic"}},"sensitive_attributes":[[{"type":"get_attr","value":"a"},{"type":"index","value":0}]]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		for _, r := range s.Resources {
			if err := WriteResource(&out, r, Style{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := Compare(&State{}, s).Write(&out, Style{}); err != nil {
			t.Fatal(err)
		}
		if d := Compare(s, s); !d.None() {
			t.Errorf("a state is different from itself: %+v", d)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
			t.Errorf("%q", out.String())
		}
	})
}
