package screen

import (
	"fmt"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestDestroyedIsBounded(t *testing.T) {
	pl := &v1alpha1.Plan{Add: 1, Destroy: 150}
	for i := range 99 {
		pl.Resources = append(pl.Resources, v1alpha1.ResourceChange{Address: fmt.Sprintf("a.b[%d]", i),
			Action: "delete"})
	}
	pl.Resources = append(pl.Resources, v1alpha1.ResourceChange{Address: "a.created", Action: "create"})
	var out strings.Builder
	if err := Destroyed(&out, pl, Style{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"This destroys 150 resources:\n", "    -   a.b[0]\n",
		"    -   a.b[19]\n    and 130 more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for _, want := range []string{"a.b[20]", "a.created", "again"} {
		if strings.Contains(text, want) {
			t.Errorf("%q is in %s", want, text)
		}
	}
	out.Reset()
	if err := Destroyed(&out, &v1alpha1.Plan{Add: 1, Resources: pl.Resources[99:]}, Style{}); err != nil ||
		out.String() != "" {
		t.Errorf("a plan that destroys nothing: %q, %v", out.String(), err)
	}
}
