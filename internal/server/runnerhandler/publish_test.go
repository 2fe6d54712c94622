package runnerhandler

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

func TestOutputsArePublishedAsStringsOrJSON(t *testing.T) {
	outputs := runnerapi.Outputs{
		"id":       {Value: json.RawMessage(`"vpc-1 \u00e4\n"`)},
		"empty":    {Value: json.RawMessage(`""`)},
		"number":   {Value: json.RawMessage(`3.10`)},
		"none":     {Value: json.RawMessage(`null`)},
		"absent":   {},
		"zones":    {Value: json.RawMessage("[\"a\",\n \"b\"]")},
		"password": {Value: json.RawMessage(`"x"`), Sensitive: true},
	}
	want := map[string]string{"id": "vpc-1 ä\n", "empty": "", "number": "3.10", "none": "null", "absent": "null",
		"zones": `["a","b"]`}
	got, err := configMapData(outputs)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	all, err := secretData(outputs)
	if err != nil || len(all) != len(want)+1 || string(all["password"]) != "x" {
		t.Fatalf("%q, %v", all, err)
	}
}

// Each output counts for itself: one with a name that no object takes keeps no other from the object.
func TestOneBadOutputKeepsNoOtherFromTheObject(t *testing.T) {
	good := runnerapi.Output{Value: json.RawMessage(`"x"`)}
	for name, test := range map[string]struct {
		value string
		code  int
		says  string
	}{
		"größe": {`1`, 422, `output "größe" cannot be a key of an object`},
		"large": {`"` + strings.Repeat("x", 1<<20) + `"`, 413, "1048576"},
	} {
		kept, err := publishable(runnerapi.Outputs{"id": good, name: {Value: json.RawMessage(test.value)}})
		if diff := cmp.Diff(runnerapi.Outputs{"id": good}, kept); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if code, text := httpapi.StatusOf(err); code != test.code || !strings.Contains(text, test.says) ||
			!strings.Contains(text, "are written") {
			t.Errorf("%s: %d %.200s", name, code, text)
		}
	}
	if kept, err := publishable(runnerapi.Outputs{"id": good}); err != nil || len(kept) != 1 {
		t.Errorf("%v %v", kept, err)
	}
}

func TestTooLargeOutputsAreRejected(t *testing.T) {
	tests := map[string]struct {
		outputs runnerapi.Outputs
		code    int
		says    string
	}{
		"a name that is no key": {runnerapi.Outputs{"größe": {Value: json.RawMessage(`1`)}}, 422, "größe"},
		"a name that is too long": {runnerapi.Outputs{strings.Repeat("a", 254): {Value: json.RawMessage(`1`)}},
			422, "253"},
		"more than an object takes": {
			runnerapi.Outputs{"a": {Value: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}, 413, "1048576"},
		"many that together are too many": {many(300, 4000), 413, "1048576"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, secret := secretData(test.outputs)
			_, configMap := configMapData(test.outputs)
			for _, err := range []error{secret, configMap} {
				if code, text := httpapi.StatusOf(err); code != test.code || !strings.Contains(text, test.says) {
					t.Fatalf("%d %.200s", code, text)
				}
			}
		})
	}
}

func many(n, size int) runnerapi.Outputs {
	outputs := runnerapi.Outputs{}
	for i := range n {
		outputs[strings.Repeat("a", 1+i%200)+strings.Repeat("b", 1+i/200)] = runnerapi.Output{
			Value: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}
	}
	return outputs
}
