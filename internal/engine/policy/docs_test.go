package policy

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExamplesOfTheDocumentation evaluates the policies of docs/how-to/policies.md with a plan of OpenTofu.
func TestExamplesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/how-to/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var modules []Module
	for _, m := range regexp.MustCompile("(?s)<!-- (rules/[a-z.]+) -->\n```[a-z]+\n(.*?)```").FindAllSubmatch(text,
		-1) {
		modules = append(modules, Module{Name: string(m[1]), Text: string(m[2])})
	}
	if len(modules) != 4 {
		t.Fatalf("%d examples", len(modules))
	}
	set, err := Compile(modules)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile("../plan/testdata/delete.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := set.Check(t.Context(), plan, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Deny rules/limits.rego: 5 resources would be destroyed, 3 may",
		"Deny rules/names.yaml: resources with the name kept must not change",
		`Deny rules/tags.rego: terraform_data.kept: the input "y" is not allowed`,
		"RequireApproval rules/names.yaml: five resources or more would be destroyed",
		"RequireApproval rules/tags.rego: terraform_data.counted[1] changes",
		"RequireApproval rules/tags.rego: terraform_data.counted[2] changes",
		"Warn rules/names.yaml: this would end terraform_data.counted[1], terraform_data.counted[2], " +
			"terraform_data.keyed[\"a\"], terraform_data.out_of_code, module.gone.terraform_data.a",
		"Warn rules/tags.rego: module.gone.terraform_data.a ends",
		"Warn rules/tags.rego: terraform_data.counted[1] ends",
		"Warn rules/tags.rego: terraform_data.counted[2] ends",
		`Warn rules/tags.rego: terraform_data.keyed["a"] ends`,
		"Warn rules/tags.rego: terraform_data.out_of_code ends",
	}
	if diff := cmp.Diff(want, lines(v)); diff != "" || v.Checked != 5 {
		t.Error(diff, v.Checked)
	}
}
