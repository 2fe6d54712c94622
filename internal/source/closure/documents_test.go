package closure

import (
	"slices"
	"testing"

	"cairn.dev/cairn/internal/source/git"
)

// A document in a module's directory is in the closure if, and only if, code may read it.
func TestDocumentsOfModulesAreIncludedIfCodeMayReadThem(t *testing.T) {
	const document = "modules/net/README.md"
	for name, tt := range map[string]struct {
		changes repository
		triggers,
		paths []string
		included bool
	}{
		"no code reads it": {},
		"the module reads another file": {
			changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/a.txt") }`,
				"modules/net/a.txt": "a"}},
		"the module reads a directory below": {
			changes: repository{"modules/net/a.tf": `locals { a = fileset("${path.module}/src", "*") }`,
				"modules/net/src/a": "a"}},
		"the module reads it": {
			changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/README.md") }`}, included: true},
		"the module reads its directory": {
			changes: repository{"modules/net/a.tf": `locals { a = fileset(path.module, "*") }`}, included: true},
		"an argument of an unknown function is its directory": {
			changes: repository{"modules/net/a.tf": `locals { a = provider::a::b(path.module) }`}, included: true},
		"a part of the path is unknown": {
			changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/${var.a}") }`}, included: true},
		"the caller reads it": {
			changes: repository{"app/a.tf": `locals { a = file("../modules/net/README.md") }`}, included: true},
		"the caller reads the directory of all modules": {
			changes: repository{"app/a.tf": `locals { a = fileset("../modules", "**") }`}, included: true},
		"a variable has its path": {
			changes: repository{"app/a.auto.tfvars": `a = "../modules/net/README.md"`}, included: true},
		"a symlink leads to it": {
			changes: repository{"app/a": "-> ../modules/net/README.md"}, included: true},
		"a trigger names it":            {triggers: []string{document}, included: true},
		"a trigger matches it":          {triggers: []string{"**/*.md"}, included: true},
		"a trigger names its directory": {triggers: []string{"modules"}, included: true},
		"a script of the Stack names it": {paths: []string{"../modules/net/README.md"},
			included: true},
		"a script of the Stack runs a program of the module": {changes: repository{"modules/net/a.sh": ""},
			paths: []string{"../modules/net/a.sh"}, included: true},
		"the code runs a program below the directory": {changes: repository{"modules/net/bin/a.py": "",
			"modules/net/a.tf": `data "external" "a" { program = ["python3", "${path.module}/bin/a.py"] }`},
			included: true},
		"the closure is the whole repository": {changes: repository{"app/a.tf": `module "a" { source = var.a }`},
			included: true},
		"the module is below the folder": {changes: repository{"app/a.tf": module("in", "./in"), "app/in/main.tf": "",
			"app/in/README.md": ""}},
		"a module above it is called too": {changes: repository{"app/a.tf": module("all", "../modules"),
			"modules/main.tf": ""}, included: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			w := Wanted{Path: "app", Triggers: tt.triggers, Paths: tt.paths}
			of := func(text string) Closure {
				r := repository{"app/main.tf": module("net", "../modules/net"), "modules/net/main.tf": ""}
				for file, text := range tt.changes {
					r[file] = text
				}
				if text != "" {
					r[document] = text
				}
				tree, blobs := r.commit(t)
				got, err := c.Of(t.Context(), tree, blobs, w)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			before, after := of("before"), of("after")
			if changed := before.Digest != after.Digest; changed != tt.included {
				t.Errorf("an edit changes the digest: %v", changed)
			}
			if delivered := slices.ContainsFunc(before.Files, func(e git.Entry) bool {
				return e.Path == document
			}); delivered != tt.included {
				t.Errorf("it is in the closure: %v", delivered)
			}
			if !tt.included && of("").Digest != before.Digest {
				t.Error("its removal changes the digest")
			}
		})
	}
}
