package engine

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

func TestRecordedPlans(t *testing.T) {
	for _, test := range []struct {
		name    string
		exit    int
		words   string
		changes Changes
	}{
		{"plan-nothing", 0, "", nil},
		{"plan-outputs", 2, "", nil},
		{"plan-moves", 2, "1 to move", Changes{{Address: "terraform_data.b", Action: Move}}},
		{"plan-create", 2, "2 to add", Changes{{Address: "terraform_data.a", Action: Create},
			{Address: "terraform_data.b", Action: Create}}},
		{"plan-destroy", 2, "2 to destroy", Changes{{Address: "terraform_data.a", Action: Delete},
			{Address: "terraform_data.b", Action: Delete}}},
		{"plan-all", 2, "3 to add, 3 to change, 3 to destroy (2 to replace), 2 to import, 2 to forget, 1 to move",
			Changes{
				{Address: "terraform_data.delete", Action: Delete},
				{Address: "terraform_data.replace", Action: Replace},
				{Address: "terraform_data.replace_first", Action: Replace},
				{Address: "terraform_data.forget", Action: Forget},
				{Address: "terraform_data.replace_kept", Action: Forget},
				{Address: "terraform_data.import_changed", Action: Update, Imported: true},
				{Address: "terraform_data.new_name_changed", Action: Update},
				{Address: "terraform_data.update", Action: Update},
				{Address: "terraform_data.replace_kept", Action: Create},
				{Address: "terraform_data.import", Action: Import, Imported: true},
				{Address: "terraform_data.new_name", Action: Move},
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, events := load(t, test.name)
			if r.ExitCode != test.exit {
				t.Errorf("exit code %d", r.ExitCode)
			}
			if diff := cmp.Diff(test.changes, events.Changes); diff != "" {
				t.Error(diff)
			}
			if got := events.Changes.String(); got != test.words {
				t.Errorf("got %q, want %q", got, test.words)
			}
		})
	}
}

func TestDoneOfAnApply(t *testing.T) {
	_, events := load(t, "apply-replace")
	if events.Done == nil || events.Done.String() != "2 added, 1 destroyed" {
		t.Errorf("%+v", events.Done)
	}
	if _, events := load(t, "local-exec"); events.Done != nil {
		t.Errorf("a failed apply has done %+v", events.Done)
	}
}

func TestChangesOfAFailedApply(t *testing.T) {
	for name, want := range map[string][]string{
		"apply-replace": {"terraform_data.a", "terraform_data.b"}, // a is destroyed and then created: one resource
		// c fails, and d waits for it; what is read is no change
		"half":        {"terraform_data.a", "terraform_data.b"},
		"local-exec":  nil,
		"plan-create": nil,
	} {
		_, events := load(t, name)
		if got := slices.Sorted(maps.Keys(events.Changed)); !slices.Equal(got, want) {
			t.Errorf("%s changed %v, want %v", name, got, want)
		}
	}
}

func TestInvalidEventsAreSkipped(t *testing.T) {
	text := "not JSON\n" + strings.Repeat("x", longestEvent+1) + "\n\x00\xff\n" +
		`{"type":"diagnostic","diagnostic":{"severity":"error","summary":"one"}}` + "\n" +
		`{"type":"diagnostic"}` + "\n" + `{"type":"planned_change"}` + "\n" + `{"type":"diagnostic","diagno`
	events, err := ReadEvents(strings.NewReader(text))
	if err != nil || len(events.Errors) != 1 {
		t.Errorf("%+v, %v", events, err)
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte(`{"type":"planned_change","change":{"resource":{"addr":"a"},"action":"noop"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := ReadEvents(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range events.Errors {
			_ = d.String()
		}
		Classify(StepPlan, 1, events.Errors)
	})
}

// TestActionsOfProvidersAreReported has the events that Terraform 1.14 and later print, as internal/command/views/json
// of it has them.
func TestActionsOfProvidersAreReported(t *testing.T) {
	const lines = `{"@message":"planned","type":"planned_action_invocation","invocation":{"action":{"addr":"action.a_call.x","action_type":"a_call"}}}
{"@message":"Action started: action.a_call.x","type":"action_start","hook":{"action":{"addr":"action.a_call.x","action_type":"a_call"},"lifecycle":{}}}
{"@message":"Action complete: action.a_call.x","type":"action_complete","hook":{"action":{"addr":"action.a_call.x","action_type":"a_call"}}}
{"@message":"a.b: Creation complete","type":"apply_complete","hook":{"resource":{"addr":"a.b","resource_type":"a"},"action":"create","id_key":"id","id_value":"7"}}
`
	var journal []Done
	var text strings.Builder
	l := NewListener(&text)
	l.Notify(func(d Done, state runnerapi.OperationState) {
		if state == runnerapi.OperationSucceeded {
			journal = append(journal, d)
		}
	})
	if _, err := io.WriteString(l, lines); err != nil {
		t.Fatal(err)
	}
	events, err := l.Close()
	if err != nil || events.Changes.Counts().Invoke != 1 || strings.Contains(text.String(), "{") {
		t.Errorf("%+v %v %s", events, err, text.String())
	}
	want := []Done{{Address: "action.a_call.x", Type: "a_call", Action: "invoke"},
		{Address: "a.b", Type: "a", Action: "create", IDKey: "id", ID: "7"}}
	if diff := cmp.Diff(want, journal); diff != "" {
		t.Error(diff)
	}
	if living := Living(journal); len(living) != 1 || living[0].Address != "a.b" {
		t.Errorf("an action is no resource: %+v", living)
	}
}

// The exit code of the engine says that such a plan has changes, or that it has none.
func TestPlansThatChangeMoreOrLessThanTheirExitCodeSays(t *testing.T) {
	const read = `{"type":"planned_change","change":{"resource":{"addr":"data.a.b"},"action":"read","reason":"read_because_check_nested"}}`
	const create = `{"type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"create"}}`
	outputs := func(action string) string {
		return `{"type":"outputs","outputs":{"x":{"sensitive":false,"action":"` + action + `"}}}`
	}
	drift := func(action string) string {
		return `{"type":"resource_drift","change":{"resource":{"addr":"a.b"},"action":"` + action + `"}}`
	}
	for name, test := range map[string]struct {
		exit   int32
		events []string
		want   bool
		counts string
	}{
		"only reads":                         {2, []string{read}, false, ""},
		"reads and outputs that stay":        {2, []string{read, outputs("noop")}, false, ""},
		"reads and an output that changes":   {2, []string{read, outputs("update")}, true, ""},
		"reads and a resource":               {2, []string{read, create}, true, "1 to add"},
		"what the events do not have":        {2, nil, true, ""},
		"nothing":                            {0, []string{outputs("noop")}, false, ""},
		"a resource that is gone everywhere": {0, []string{drift("delete")}, true, "1 to forget"},
		"one that is created again":          {2, []string{drift("delete"), create}, true, "1 to add"},
		"one that differs and may":           {0, []string{drift("update")}, false, ""},
	} {
		events, err := ReadEvents(strings.NewReader(strings.Join(test.events, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if got := events.HasChanges(test.exit); got != test.want || events.Changes.String() != test.counts {
			t.Errorf("%s: %v, %s", name, got, events.Changes)
		}
	}
	// The apply of a plan with -refresh-only writes what is listed here to the state, and nothing else.
	for name, test := range map[string]struct {
		exit   int32
		events []string
		want   bool
		counts string
	}{
		"a resource that differs": {2, []string{drift("update")}, true, "1 to refresh in the state"},
		"one that is gone":        {2, []string{drift("delete")}, true, "1 to forget"},
		"one that was moved":      {2, []string{drift("move")}, true, "1 to move"},
		"outputs":                 {2, []string{outputs("update")}, true, ""},
		"what no event has":       {2, []string{outputs("noop")}, false, ""},
		"nothing":                 {0, nil, false, ""},
		"one that differs, with all": {2, []string{drift("update"), drift("delete"), outputs("update")}, true,
			"1 to forget, 1 to refresh in the state"},
	} {
		events, err := ReadEvents(strings.NewReader(strings.Join(test.events, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		events.AcceptDrift()
		if got := events.HasChanges(test.exit); got != test.want || events.Changes.String() != test.counts {
			t.Errorf("with -refresh-only, %s: %v, %s", name, got, events.Changes)
		}
	}
}
