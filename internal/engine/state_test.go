package engine

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseState(t *testing.T) {
	state, err := ParseState([]byte(`{
  "version": 4, "serial": 7, "lineage": "l",
  "outputs": {"o": {"value": "open", "type": "string"}, "s": {"value": {"a": 12345678901234567890}, "type": "dynamic", "sensitive": true}},
  "resources": [{"mode": "managed", "instances": [
    {"attributes": {"open": "open", "password": "one", "list": ["x", "two"], "set": ["three", "four"], "any": {"value": {"deep": "five"}, "type": "x"}},
     "sensitive_attributes": [
       [{"type": "get_attr", "value": "password"}],
       [{"type": "get_attr", "value": "list"}, {"type": "index", "value": {"value": 1, "type": "number"}}],
       [{"type": "get_attr", "value": "set"}, {"type": "index", "value": {"value": "three", "type": "string"}}],
       [{"type": "get_attr", "value": "any"}, {"type": "get_attr", "value": "deep"}]
     ]},
    {"attributes": {"open": "open"}, "sensitive_attributes": []},
    {"attributes_flat": {"open": "open"}}
  ]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if state.Serial != 7 || state.Lineage != "l" || !state.Outputs["s"].Sensitive || state.Outputs["o"].Sensitive ||
		state.Encrypted != nil {
		t.Errorf("%+v", state)
	}
	want := []any{
		map[string]any{"a": json.Number("12345678901234567890")},
		"one", "two", []any{"three", "four"}, "five",
	}
	if diff := cmp.Diff(want, state.Secrets); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"resources":[{"instances":[{"attributes":{"a":["x"]},"sensitive_attributes":[[{"type":"get_attr","value":"a"},{"type":"index","value":0}]]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { ParseState(data) })
}

func TestStateWithoutALineage(t *testing.T) {
	const state = `{"version":4,"serial":0,"lineage":"","outputs":{},"resources":[{"type":"a"}]}`
	got, err := WithLineage([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := WithLineage([]byte(state))
	parsed, err := ParseState(got)
	if err != nil || len(parsed.Lineage) != 36 || !bytes.Equal(got, again) ||
		!bytes.Contains(got, []byte(`"resources":[{"type":"a"}]`)) {
		t.Errorf("%s, then %s: %v", got, again, err)
	}
	for _, other := range []string{`{"serial":1,"lineage":"mine"}`, `{"serial":1,"lineage":"","encrypted_data":"x"}`} {
		if got, err := WithLineage([]byte(other)); err != nil || string(got) != other {
			t.Errorf("%s became %s: %v", other, got, err)
		}
	}
	if _, err := WithLineage([]byte("no state")); err == nil {
		t.Error("an invalid state has a lineage")
	}
}

func TestStatesAreTheSameWhateverTheirSerial(t *testing.T) {
	const state = `{"serial": 1, "lineage": "l", "resources": [{"name": "a"}]}`
	for other, want := range map[string]bool{
		state: true,
		`{"lineage":"l","serial":9,"resources":[{"name":"a"}]}`: true,
		`{"lineage":"m","serial":1,"resources":[{"name":"a"}]}`: false,
		`{"lineage":"l","serial":1,"resources":[{"name":"b"}]}`: false,
		`{"lineage":"l","serial":1}`:                            false,
		`{"lineage":"l","serial":1,"resources":[{"name":`:       false,
		"": false,
	} {
		if got := SameState([]byte(state), []byte(other)); got != want {
			t.Errorf("%s: %v", other, got)
		}
	}
}
