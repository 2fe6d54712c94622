package planfile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
)

// drifted is what changed outside of the engine, and an address that changed in the code.
var drifted = planfiletest.Plan{
	{Address: "test_disk.grown", Action: planfiletest.Update, Before: values{"size": 10}, After: values{"size": 20}},
	{Address: "test_disk.gone", Action: planfiletest.Delete, Before: values{"size": 10}},
	{Address: "test_disk.moved", Action: planfiletest.NoOp, Before: values{"size": 10}, Previous: "test_disk.old"},
}

func readMessage(t *testing.T, message []byte) *planfile.File {
	t.Helper()
	f, err := planfile.Read(planfiletest.Zip(t, message))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The apply of a plan with -refresh-only writes all of its drift to the state: that is what it changes, for the status
// and for users.
func TestAPlanWithRefreshOnlyShowsItsDriftAsItsChanges(t *testing.T) {
	message, shown := drifted.RefreshOnly(t)
	f := readMessage(t, message)
	want := engine.Changes{
		{Address: "test_disk.gone", Action: engine.Forget}, {Address: "test_disk.grown", Action: engine.Refresh},
		{Address: "test_disk.moved", Action: engine.Move},
	}
	if diff := cmp.Diff(want, f.Changes()); diff != "" || !f.IsRefreshOnly() {
		t.Error(f.IsRefreshOnly(), diff)
	}
	document, err := f.Document(shown)
	if err != nil {
		t.Fatal(err)
	}
	view, err := plan.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := plan.Text(&text, view); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"~ test_disk.grown changed outside of Cairn, and the state will have this\n", "~ size = 10 -> 20\n",
		". test_disk.gone will be removed from the state, but not destroyed\n      # it does not exist any more\n",
		"test_disk.moved will be moved\n      # it was test_disk.old\n",
		"Plan, of the state alone: 1 to refresh, 1 to forget, 1 to move. No resource is changed.\n",
	} {
		if strings.Count(text.String(), line) != 1 {
			t.Errorf("no %q in\n%s", line, &text)
		}
	}
	// Without the option the engine does not write it.
	if changes := readMessage(t, planWithDrift(t)).Changes(); len(changes) != 1 || changes[0].Action != engine.Forget {
		t.Errorf("%+v", changes)
	}
}

// planWithDrift is a plan that found the drift, and has no changes.
func planWithDrift(t *testing.T) []byte {
	t.Helper()
	message, _ := drifted.RefreshOnly(t)
	return bytes.Replace(message, planfiletest.Number(nil, 17, 2), planfiletest.Number(nil, 17, 0), 1)
}

// TestHiddenDriftIsRejected checks JSON from which approvers would not see what the apply writes to the state.
func TestHiddenDriftIsRejected(t *testing.T) {
	message, shown := drifted.RefreshOnly(t)
	_, none := planfiletest.Plan{}.RefreshOnly(t)
	for name, test := range map[string]struct {
		message  []byte
		from, to string
		want     string
	}{
		"a plan that hides its mode": {message, `"refresh_only":true,`, ``,
			"refresh_only is another in the plan file"},
		"a plan that denies its mode": {message, `"refresh_only":true`, `"refresh_only":false`,
			"refresh_only is another"},
		"a mode that is no boolean": {message, `"refresh_only":true`, `"refresh_only":"true"`,
			"refresh_only is another"},
		"a plan that applies nothing of it": {planWithDrift(t), ``, ``, "refresh_only is another in the plan file"},
		"another value": {message, `"size":20`, `"size":10`,
			"resource_drift: test_disk.grown: after the change"},
		"all drift": {message, string(shown), string(none), "in the plan file is missing"},
		"a move": {message, `"previous_address":"test_disk.old",`, ``,
			"test_disk.moved is another resource"},
		"a resource that is gone": {message, `"actions":["delete"]`, `"actions":["update"]`,
			"test_disk.gone: its actions"},
	} {
		t.Run(name, func(t *testing.T) {
			lie := bytes.Replace(shown, []byte(test.from), []byte(test.to), 1)
			if bytes.Equal(lie, shown) && test.from != "" {
				t.Fatalf("no %s in %s", test.from, shown)
			}
			_, err := readMessage(t, test.message).Document(lie)
			if mismatch := (*planfile.Mismatch)(nil); !errors.As(err, &mismatch) ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	moves := planfiletest.Plan{drifted[2]}
	message, _ = moves.RefreshOnly(t)
	if _, err := readMessage(t, message).Document(none); err == nil {
		t.Error("a move alone is hidden")
	}
}

// An object that a replacement left is in no drift of an engine. One that is gone would leave the state unseen.
func TestWhatAReplacementLeftIsNotRemovedUnseen(t *testing.T) {
	state := func(instances string) string {
		return `{"resources":[{"module":"module.a","mode":"managed","type":"x","name":"y","instances":[` +
			instances + `]}]}`
	}
	const current, left, other = `{"index_key":"k","attributes":{}}`,
		`{"index_key":"k","deposed":"00ab12cd","attributes":{}}`,
		`{"index_key":0,"deposed":"00ab12cd","attributes":{}}`
	message, shown := drifted.RefreshOnly(t)
	for name, test := range map[string]struct {
		before, found string
		gone          string
	}{
		"nothing":                {state(current), state(current), ""},
		"the current one":        {state(current), state(""), ""},
		"one that is still left": {state(current + "," + left), state(left), ""},
		"one that is gone":       {state(current + "," + left), state(current), `module.a.x.y["k"]`},
		"one of two":             {state(left + "," + other), state(left), "module.a.x.y[0]"},
		"one of another state":   {state(left), `{}`, `module.a.x.y["k"]`},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := planfile.Read(planfiletest.ZipWithStates(t, test.before, test.found, message))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Document(shown)
			if (err == nil) != (test.gone == "") || err != nil && !strings.Contains(err.Error(), "00ab12cd of "+
				test.gone) {
				t.Errorf("got %v", err)
			}
			if all := f.Changes(); len(all) > len(drifted) != (test.gone != "") {
				t.Errorf("%+v", all)
			}
		})
	}
	if _, err := planfile.ReadChanges(planfiletest.ZipWithStates(t, `{}`, `[`, message)); !errors.Is(err,
		planfile.ErrUnreadable) {
		t.Errorf("a state that cannot be read: %v", err)
	}
}
