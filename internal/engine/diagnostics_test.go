package engine

import (
	"fmt"
	"testing"
)

func TestExplainNamesAllVariablesWithoutAValue(t *testing.T) {
	missing := func(name string) Diagnostic {
		return Diagnostic{
			Severity: "error", Summary: "No value for required variable",
			Range: &Range{Filename: "main.tf", Start: Position{Line: 1}},
			Detail: fmt.Sprintf("The root module input variable %q is not set, and has no default value. %s", name,
				advisesFlags),
		}
	}
	var many []Diagnostic
	for i := range 22 {
		many = append(many, missing(fmt.Sprintf("v%02d", i)))
	}
	other := Diagnostic{Severity: "error", Summary: "Invalid reference", Detail: `A variable "x" does not exist`}
	warning := missing("w")
	warning.Severity = "warning"
	const todo = " Set them in spec.variables of the Stack, or set defaults in the code."
	for name, test := range map[string]struct {
		diagnostics []Diagnostic
		want        string
	}{
		"none": {nil, ""},
		"one": {[]Diagnostic{missing("size"), warning},
			`No value for required variable: The root module input variable "size" is not set, and has no ` +
				"default value. Set it in spec.variables of the Stack, or set a default in the code. (main.tf:1)"},
		"two": {[]Diagnostic{missing("zone"), missing("size"), other},
			"No value for required variables: size, zone." + todo},
		"the same twice":      {[]Diagnostic{missing("size"), missing("size")}, missing("size").String()},
		"another error first": {[]Diagnostic{other, missing("zone"), missing("size")}, other.String()},
		"many": {many, "No value for required variables: v00, v01, v02, v03, v04, v05, v06, v07, v08, v09, v10, v11, " +
			"v12, v13, v14, v15, v16, v17, v18, v19 and 2 more." + todo},
	} {
		if got := Explain(test.diagnostics); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
