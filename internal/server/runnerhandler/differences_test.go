package runnerhandler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestDifferences(t *testing.T) {
	got := differencesOf(plan.View{
		Changes: []plan.Change{
			{Address: "a.deleted", Action: plan.Delete, Attributes: []plan.Attribute{{Path: "id"}}},
			{Address: `a.changed["x"]`, Action: plan.Update, Attributes: []plan.Attribute{{Path: "size"},
				{Path: `tags["a/b"]`}}},
			{Address: "data.a.read", Action: plan.Read},
		},
		Outputs: []plan.Output{{Name: "ip", Action: plan.Update, Attributes: []plan.Attribute{{Path: "ip"}}}},
	})
	want := []runnerapi.Difference{
		{Address: "a.deleted", Action: "delete"},
		{Address: `a.changed["x"]`, Action: "update", Attributes: []string{"size", `tags["a/b"]`}},
		{Address: "output.ip", Action: "update"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDifferencesThatDoNotFit checks that none are known then: some of them would be ignored, and the rest not seen.
func TestDifferencesThatDoNotFit(t *testing.T) {
	var many []plan.Change
	for i := range maxDifferences + 1 {
		many = append(many, plan.Change{Address: fmt.Sprintf("a.b[%d]", i), Action: plan.Delete})
	}
	attribute := func(path string) []plan.Change {
		return []plan.Change{{Address: "a.b", Action: plan.Update, Attributes: []plan.Attribute{{Path: path}}}}
	}
	var large []plan.Change
	for i := range 40 {
		large = append(large, plan.Change{Address: fmt.Sprintf("a.b[%d]", i), Action: plan.Update,
			Attributes: attribute(strings.Repeat("a", 250))[0].Attributes})
	}
	for name, tt := range map[string]struct {
		changes []plan.Change
		fit     bool
	}{
		"as many as there may be":     {many[1:], true},
		"one more":                    {many, false},
		"a path as long as it may be": {attribute(strings.Repeat("a", maxAttribute)), true},
		"a longer path":               {attribute(strings.Repeat("a", maxAttribute+1)), false},
		"a path of two lines":         {attribute("a\nb"), false},
		"an address longer than a cut": {
			[]plan.Change{{Address: strings.Repeat("a", maxAddress+1), Action: plan.Delete}}, false},
		"more text than a status is for": {large, false},
	} {
		if got := differencesOf(plan.View{Changes: tt.changes}); (got != nil) != tt.fit {
			t.Errorf("%s: %d differences", name, len(got))
		}
	}
}
