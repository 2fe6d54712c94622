package migrate

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

// inputs returns the inputs testdata/<system>/<name>.yaml. The expected results are <name>.golden.yaml and
// <name>.notes.
func inputs(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".golden.yaml") })
}

// convertText converts a text as the command does.
func convertText(t testing.TB, text []byte) convert.Result {
	t.Helper()
	objects, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Convert(objects)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func manifests(t testing.TB, r convert.Result) []byte {
	t.Helper()
	text, err := r.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGolden(t *testing.T) {
	for _, file := range inputs(t) {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(file, ".yaml")
			r := convertText(t, text)
			golden(t, base+".golden.yaml", manifests(t, r))
			golden(t, base+".notes", []byte(manifest.Text(r.Notes)))
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test -run TestGolden -update writes it):\n%s", file, diff)
	}
}

// TestConversionIsDeterministic checks that converting twice, or in another order, has the same result.
func TestConversionIsDeterministic(t *testing.T) {
	for _, file := range inputs(t) {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, hold := range []bool{false, true} {
				first := convertText(t, text)
				if hold {
					first.Hold()
				}
				once := manifests(t, first)
				again := convertText(t, once)
				again.Hold() // existing objects of Cairn are not changed
				if diff := cmp.Diff(string(once), string(manifests(t, again))); diff != "" {
					t.Errorf("converted again, the result differs:\n%s", diff)
				}
			}
			objects, err := Read(text)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(objects)
			backwards, err := Convert(objects)
			if err != nil {
				t.Fatal(err)
			}
			forwards := convertText(t, text)
			if diff := cmp.Diff(string(manifests(t, forwards)), string(manifests(t, backwards))); diff != "" {
				t.Errorf("in another order, the result differs:\n%s", diff)
			}
			if diff := cmp.Diff(manifest.Text(forwards.Notes), manifest.Text(backwards.Notes)); diff != "" {
				t.Errorf("in another order, the notes differ:\n%s", diff)
			}
		})
	}
}

// TestEachFieldOfTheKnownSchemasHasANote checks that each field of the known schemas
// (testdata/<system>/<version>.fields, one path a line, as in the CRD of the system) is in that version's full.yaml,
// and that a note mentions it.
func TestEachFieldOfTheKnownSchemasHasANote(t *testing.T) {
	lists, err := filepath.Glob("testdata/*/*.fields")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		t.Run(list, func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(list, ".fields") + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Read(text)
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for _, o := range objects {
				paths(o.GetKind()+".spec", o.Object["spec"], there)
			}
			data, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
				if path := lines.Text(); path != "" && !strings.HasPrefix(path, "#") && !have(there, path) {
					t.Errorf("%s is a field of the schema, and not in the input", path)
				}
			}
			for _, n := range convertText(t, text).Notes {
				if n.Outcome == manifest.Unknown {
					t.Errorf("%s: %s: %s %s", n.Object, n.Field, n.Outcome, n.Text)
				}
			}
		})
	}
}

// have returns whether a path exists; * in it is any name.
func have(there map[string]bool, path string) bool {
	if before, after, any := strings.Cut(path, "*"); any {
		for p := range there {
			if rest, ok := strings.CutPrefix(p, before); ok && (after == "" || strings.HasSuffix(rest, after)) {
				return true
			}
		}
	}
	return there[path]
}

// paths returns the paths of all fields of a value; [] denotes the items of a list.
func paths(at string, value any, there map[string]bool) {
	there[at] = true
	switch value := value.(type) {
	case map[string]any:
		for name, in := range value {
			paths(at+"."+name, in, there)
		}
	case []any:
		for _, in := range value {
			paths(at+"[]", in, there)
		}
	}
}
