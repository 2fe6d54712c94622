package planfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
)

// TestOutputsOfThePlanFile also reads without values, as the server does for the status of a Run.
func TestOutputsOfThePlanFile(t *testing.T) {
	message := planfiletest.WithOutputs(t, all.Message(t),
		planfiletest.Output{Name: "new", Action: planfiletest.Create, Values: []any{"nat-staging"}},
		planfiletest.Output{Name: "later", Action: planfiletest.Create, Values: []any{planfiletest.Unknown}},
		planfiletest.Output{Name: "partly", Action: planfiletest.Update, Values: []any{
			map[string]any{"a": 1}, map[string]any{"a": []any{"x", map[string]any{"id": planfiletest.Unknown}}},
		}},
		planfiletest.Output{Name: "typed", Action: planfiletest.Update,
			Values: []any{"old", []any{[]byte(`"string"`), "new"}}},
		planfiletest.Output{Name: "secret", Action: planfiletest.Create, Values: []any{"hunter2"}, Sensitive: true},
		planfiletest.Output{Name: "gone", Action: planfiletest.Delete, Values: []any{"old"}},
		planfiletest.Output{Name: "same", Action: planfiletest.NoOp, Values: []any{"old"}},
	)
	want := []planfile.OutputChange{
		{Name: "gone", Action: engine.Delete}, {Name: "later", Action: engine.Create},
		{Name: "new", Action: engine.Create, Known: true},
		{Name: "partly", Action: engine.Update}, {Name: "secret", Action: engine.Create, Known: true, Sensitive: true},
		{Name: "typed", Action: engine.Update, Known: true},
	}
	for name, read := range map[string]func([]byte) (*planfile.File, error){"values": planfile.Read,
		"changes": planfile.ReadChanges} {
		f, err := read(planfiletest.Zip(t, message))
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, f.Outputs()); diff != "" {
			t.Error(name, diff)
		}
	}
}
