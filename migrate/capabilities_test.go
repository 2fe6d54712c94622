package migrate

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/cli/migration"
	"cairn.dev/cairn/migrate/convert"
)

// TestTableOfCapabilities checks that the table has the capabilities of each converted system, each with its equivalent
// in Cairn or a reason.
func TestTableOfCapabilities(t *testing.T) {
	text, err := os.ReadFile("../docs/about/capabilities.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, rows, _ := strings.Cut(section, "\n")
		sections[name] = rows
	}
	for _, k := range kinds {
		if sections[k.System] == "" && k.Stack && k.System != convert.CairnSystem {
			t.Errorf("%s is converted, but has no section", k.System)
		}
	}
	for name, rows := range sections {
		for line := range strings.Lines(rows) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
				continue
			}
			if len(cells) != 2 || len(strings.TrimSpace(cells[0])) == 0 || len(strings.TrimSpace(cells[1])) == 0 {
				t.Errorf("%s: %q is not a capability with an equivalent", name, line)
			}
		}
	}
}

// TestSystemsOfTheCommand checks the text of `cairn migrate --help`, which the core has.
func TestSystemsOfTheCommand(t *testing.T) {
	var names []string
	for _, k := range Kinds() {
		if !slices.Contains(names, k.System) {
			names = append(names, k.System)
		}
	}
	if diff := cmp.Diff(migration.Systems, strings.Join(names, ", ")); diff != "" {
		t.Error(diff)
	}
}
