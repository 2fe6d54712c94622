package closure

import (
	"slices"
	"testing"

	"cairn.dev/cairn/internal/git"
)

// A document in a module's directory belongs once something may read it, and only then.
func TestADocumentThatMayBeReadBelongs(t *testing.T) {
	const document = "modules/net/README.md"
	for name, tt := range map[string]struct {
		changes repository
		triggers,
		paths []string
		belongs bool
	}{
		"nothing reads it":                                   {},
		"the module reads another file":                      {changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/a.txt") }`, "modules/net/a.txt": "a"}},
		"the module reads a directory below":                 {changes: repository{"modules/net/a.tf": `locals { a = fileset("${path.module}/src", "*") }`, "modules/net/src/a": "a"}},
		"the module reads it":                                {changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/README.md") }`}, belongs: true},
		"the module reads its directory":                     {changes: repository{"modules/net/a.tf": `locals { a = fileset(path.module, "*") }`}, belongs: true},
		"a function that is not known gets the directory":    {changes: repository{"modules/net/a.tf": `locals { a = replace(path.module, "x", "y") }`}, belongs: true},
		"a part of the path is unknown":                      {changes: repository{"modules/net/a.tf": `locals { a = file("${path.module}/${var.a}") }`}, belongs: true},
		"the caller reads it":                                {changes: repository{"app/a.tf": `locals { a = file("../modules/net/README.md") }`}, belongs: true},
		"the caller reads the directory of all modules":      {changes: repository{"app/a.tf": `locals { a = fileset("../modules", "**") }`}, belongs: true},
		"a variable has its path":                            {changes: repository{"app/a.auto.tfvars": `a = "../modules/net/README.md"`}, belongs: true},
		"a symlink leads to it":                              {changes: repository{"app/a": "-> ../modules/net/README.md"}, belongs: true},
		"a trigger names it":                                 {triggers: []string{document}, belongs: true},
		"a trigger matches it":                               {triggers: []string{"**/*.md"}, belongs: true},
		"a trigger names its directory":                      {triggers: []string{"modules"}, belongs: true},
		"a script of the Stack names it":                     {paths: []string{"../modules/net/README.md"}, belongs: true},
		"a script of the Stack runs a program of the module": {changes: repository{"modules/net/a.sh": ""}, paths: []string{"../modules/net/a.sh"}, belongs: true},
		"the code runs a program below the directory":        {changes: repository{"modules/net/bin/a.py": "", "modules/net/a.tf": `data "external" "a" { program = ["python3", "${path.module}/bin/a.py"] }`}, belongs: true},
		"the whole repository belongs":                       {changes: repository{"app/a.tf": `module "a" { source = var.a }`}, belongs: true},
		"the module is below the folder":                     {changes: repository{"app/a.tf": module("in", "./in"), "app/in/main.tf": "", "app/in/README.md": ""}},
		"a module above it is called too":                    {changes: repository{"app/a.tf": module("all", "../modules"), "modules/main.tf": ""}, belongs: true},
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
			if changed := before.Digest != after.Digest; changed != tt.belongs {
				t.Errorf("an edit gives another digest: %v", changed)
			}
			if delivered := slices.ContainsFunc(before.Files, func(e git.Entry) bool { return e.Path == document }); delivered != tt.belongs {
				t.Errorf("it is delivered: %v", delivered)
			}
			if !tt.belongs && of("").Digest != before.Digest {
				t.Error("its removal gives another digest")
			}
		})
	}
}
