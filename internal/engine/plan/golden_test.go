package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/redact"
)

// recorded returns the names of all plans in testdata. Each has a recording of OpenTofu, or the test that reads it
// fails.
func recorded(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d plans, %v", len(files), err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".txtar"))
	}
	return names
}

func load(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		keep(t, filepath.Join("testdata", file), got)
		return
	}
	if diff := cmp.Diff(string(load(t, file)), string(got)); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", file, diff)
	}
}

// mask masks secrets as the runner does.
func mask(t testing.TB, raw []byte) []byte {
	t.Helper()
	secrets := redact.New()
	masked, err := Mask(raw, secrets.String, func(s string) { secrets.Add(s) })
	if err != nil {
		t.Fatal(err)
	}
	return masked
}

func parse(t testing.TB, data []byte) View {
	t.Helper()
	view, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func TestViewsOfRecordedPlans(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			view := parse(t, mask(t, load(t, name+".json")))
			var plain, color bytes.Buffer
			if err := Text(&plain, view); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden.txt", plain.Bytes())
			if err := view.Write(&color, Style{Color: true}); err != nil {
				t.Fatal(err)
			}
			if got := withoutOurs(color.String()); got != plain.String() {
				t.Errorf("color changes more than color:\n%s", cmp.Diff(plain.String(), got))
			}
		})
	}
}

func withoutOurs(s string) string {
	return strings.NewReplacer(red, "", green, "", yellow, "", cyan, "", bold, "", reset, "").Replace(s)
}

func TestViewRoundTripsThroughJSON(t *testing.T) {
	for _, name := range recorded(t) {
		view := parse(t, load(t, name+".json"))
		data, err := json.Marshal(view)
		if err != nil {
			t.Fatal(err)
		}
		var back View
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		var before, after bytes.Buffer
		_ = view.Write(&before, Style{})
		_ = back.Write(&after, Style{})
		if diff := cmp.Diff(before.String(), after.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMaskingKeepsTheChanges(t *testing.T) {
	for _, name := range recorded(t) {
		raw := load(t, name+".json")
		masked, err := Mask(raw, func(s string) string { return s }, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, raw), parse(t, masked)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
