package fence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// plainText returns the input of a fingerprint.
var plainText = &Fence{Options: Options{Fingerprint: func(message []byte) string { return string(message) }}}

var vpc = types.NamespacedName{Namespace: "prod", Name: "vpc"}

func outputsState(outputs string) []byte {
	return []byte(`{"version":4,"serial":7,"lineage":"3f2a","outputs":{` + outputs + `}}`)
}

func fingerprintOf(t *testing.T, key types.NamespacedName, outputs string) map[string]string {
	t.Helper()
	s, err := plainText.Summarize(key, outputsState(outputs))
	if err != nil {
		t.Fatal(err)
	}
	return s.Outputs
}

func TestFingerprintDependsOnTheValueAndTheStack(t *testing.T) {
	const id = `"id":{"value":{"b":[1,2.50],"a":"<x>"},"type":["object",{}]}`
	want := map[string]string{"id": `["prod","vpc","id",false,{"a":"\u003cx\u003e","b":[1,2.50]}]`}
	if diff := cmp.Diff(want, fingerprintOf(t, vpc, id)); diff != "" {
		t.Fatal(diff)
	}
	for name, tt := range map[string]struct {
		key     types.NamespacedName
		outputs string
		same    bool
	}{
		"the same value, formatted differently": {vpc,
			` "id" : {"type":"x", "value":{"a":"\u003cx>", "b":[1, 2.50]}, "sensitive":false}`, true},
		"another value":           {vpc, `"id":{"value":{"b":[1,2.51],"a":"<x>"}}`, false},
		"a list in another order": {vpc, `"id":{"value":{"b":[2.50,1],"a":"<x>"}}`, false},
		"a value that became sensitive": {vpc, `"id":{"value":{"b":[1,2.50],"a":"<x>"},"sensitive":true}`,
			false},
		"without a value":                     {vpc, `"id":{"type":"string"}`, false},
		"the same value of another Stack":     {types.NamespacedName{Namespace: "prod", Name: "dns"}, id, false},
		"the same value in another namespace": {types.NamespacedName{Namespace: "dev", Name: "vpc"}, id, false},
		"a number that a float would round away": {vpc, `"id":{"value":{"b":[1,2.500000000000000000001],"a":"<x>"}}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fingerprintOf(t, tt.key, tt.outputs); cmp.Equal(want["id"], got["id"]) != tt.same {
				t.Errorf("%s and %s", want["id"], got["id"])
			}
		})
	}
	if got := fingerprintOf(t, vpc, `"a":{"value":1},"b":{"value":1}`); got["a"] == got["b"] {
		t.Errorf("two outputs with one value have one fingerprint: %v", got)
	}
}

func TestStatesWithoutFingerprints(t *testing.T) {
	for name, data := range map[string]string{
		"a state that the engine encrypted": `{"serial":7,"lineage":"3f2a","outputs":{"id":{"value":1}},"encryption_version":"v0"}`,
		"a state of a later format":         `{"version":5,"serial":7,"lineage":"3f2a","outputs":{"id":{"value":1}}}`,
		"a state without outputs":           string(outputsState("")),
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := plainText.Summarize(vpc, []byte(data)); err != nil || s.Outputs != nil {
				t.Errorf("%v, %v", s.Outputs, err)
			}
		})
	}
	if s, err := new(Fence).Summarize(vpc, outputsState(`"id":{"value":1}`)); err != nil || s.Outputs != nil {
		t.Errorf("without a key: %v, %v", s.Outputs, err)
	}
}

func TestLimitsOfFingerprints(t *testing.T) {
	outputs := []string{
		`"` + strings.Repeat("a", 254) + `":{"value":1}`, `"` + strings.Repeat("b", 253) + `":{"value":1}`,
		`"c-large":{"value":"` + strings.Repeat("x", 1<<20) + `"}`,
	}
	for i := range 1005 {
		outputs = append(outputs, fmt.Sprintf(`"out-%04d":{"value":%d}`, i, i))
	}
	got := fingerprintOf(t, vpc, strings.Join(outputs, ","))
	for name, there := range map[string]bool{
		strings.Repeat("a", 254): false, strings.Repeat("b", 253): true, "c-large": false,
		"out-0000": true, "out-0998": true, "out-0999": false, "out-1004": false,
	} {
		if _, ok := got[name]; ok != there {
			t.Errorf("%.20s: %v, want %v", name, ok, there)
		}
	}
	if len(got) != 1000 {
		t.Errorf("%d fingerprints", len(got))
	}
}
